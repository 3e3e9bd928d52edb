"""The report as text: complete, self-contained, and nothing from the data can become code."""

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from markupsafe import escape

import outpoint as op
from outpoint.naming import write_number
from outpoint.report import render_report
from outpoint.report.answers import list_dags, list_effects
from outpoint.report.facts import list_grounds, list_settings
from outpoint.report.figures import draw_heatmap
from outpoint.report.payload import MOST_ROWS, build_payload, count_features, to_json
from tests.figures import leave_out_figures
from tests.grids import first
from tests.report.posteriors import HOSTILE, Fabricated, exact, fabricated, sampled


def payload_for(posterior: op.Posterior) -> dict:
    return build_payload(posterior, posterior.diagnostics(), list_dags(posterior))


class Elements(HTMLParser):
    """Start tags with their attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in ("script", "style"):
            self.raw.append(data)


HOSTILE_POSTERIOR = fabricated(len(HOSTILE), HOSTILE)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out_figures(monkeypatch)


@pytest.fixture(scope="module")
def page() -> str:
    """The report on variables with hostile names."""
    return render_report(HOSTILE_POSTERIOR)


@pytest.fixture(scope="module")
def parsed(page: str) -> Elements:
    return Elements(page)


def payload_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


# Safety


@pytest.mark.attack("hostile names of variables")
def test_names_cannot_leave_the_data(page: str, parsed: Elements) -> None:
    assert payload_of(page)["names"] == list(HOSTILE)
    assert [tag for tag, _ in parsed.tags].count("script") == 3
    assert not any(attrs.get("onerror") for _, attrs in parsed.tags)
    assert "{{ 7 * 7 }}" not in re.sub("<[^>]+>", "", page[: page.index("<main>")])
    assert ">49<" not in page


def test_d3_comes_with_its_licence(page: str) -> None:
    inline = re.findall(r"<script>(.*?)</script>", page, re.S)
    drawing = [text for text in inline if "https://d3js.org v7" in text]
    assert len(drawing) == 1
    assert "Permission to use, copy, modify" in drawing[0]
    assert "Copyright 2001 Robert Penner" in drawing[0]


def test_json_in_a_script_has_no_markup():
    text = to_json({"names": ["</script>", "<!--", "&amp;", "\u2028\u2029", "\ud800"]})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text)["names"] == ["</script>", "<!--", "&amp;", "\u2028\u2029", "\ud800"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"rhat": float("nan")})


def test_text_from_the_run_is_escaped(page: str) -> None:
    assert "<b>bold</b>" not in page
    assert "<i>fabricated</i>" not in page
    assert html.escape("fabricated & <b>bold</b>") in page
    with_command = render_report(HOSTILE_POSTERIOR, command="outpoint learn '<u>x</u>'")
    assert "<u>" not in with_command
    assert "&lt;u&gt;x&lt;/u&gt;" in with_command


def test_nothing_is_loaded_from_elsewhere(parsed: Elements) -> None:
    loading = ("src", "srcset", "action", "poster", "data")
    for tag, attrs in parsed.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert not any(attrs.get(name) for name in loading)
        for name in ("href", "xlink:href"):
            assert (attrs.get(name) or "#").startswith(("#", "data:image/png"))
    assert not any("url(" in text.replace("url(#", "") for text in parsed.raw[:1])


def test_policy_allows_exactly_what_is_there(page: str, parsed: Elements) -> None:
    policy = next(a["content"] for t, a in parsed.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    allowed = set(re.findall("'sha256-([^']+)'", policy))
    inline = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", page, re.S)
    found = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline}
    assert found == allowed
    assert len(found) == 3
    assert not any("style" in attrs for _, attrs in parsed.tags), "inline styles are forbidden"
    assert not any(name.startswith("on") for _, attrs in parsed.tags for name in attrs)


def test_ids_are_unique(page: str, parsed: Elements) -> None:
    ids = [attrs["id"] for _, attrs in parsed.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = re.findall(r'(?:url\(#|href="#)([^)"]+)', page)
    assert set(targets) <= set(ids)
    assert targets


# Content


@pytest.mark.parametrize(
    "make",
    [lambda: exact(5), lambda: sampled(5), lambda: sampled(5, chains=1), lambda: exact(2)],
    ids=["exact", "sampled", "single chain", "two nodes"],
)
def test_every_kind_of_posterior_has_a_report(make, tmp_path):
    posterior = make()
    path = posterior.report(tmp_path / "new" / "report.html")
    page = path.read_text(encoding="utf-8")
    assert str(escape(posterior.verdict)) in page
    assert posterior.info.fingerprint in page
    assert f"seed={posterior.info.seed}" in page
    assert f"outpoint {posterior.info.version}" in page
    assert ("figure-concordance" in page) == (getattr(posterior, "n_chains", 1) > 1)
    assert ("figure-autocorrelation" in page) == (posterior.method == "mcmc")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]


def test_payload_holds_the_posterior():
    posterior = exact(5)
    payload = payload_for(posterior)
    edges = posterior.edge_probabilities.to_numpy()
    features = count_features(posterior)
    for a, b, *values in payload["graph"]["pairs"]:
        matrices = (edges, edges.T, features.compelled, features.compelled.T, features.reversible)
        assert values == pytest.approx([matrix[a, b] for matrix in matrices], abs=1e-4)
    shown = {(a, b) for a, b, *_ in payload["graph"]["pairs"]}
    drawn = np.any([ranked.dag.adjacency for ranked in list_dags(posterior)], axis=0)
    wanted = np.triu((edges + edges.T >= 0.05) | drawn | drawn.T, 1)
    assert shown == set(map(tuple, np.argwhere(wanted).tolist()))
    for node, details in enumerate(payload["nodes"]):
        members, value = details["sets"][0]
        first = posterior.parent_set_probabilities(node)[0]
        assert tuple(posterior.names[i] for i in members) == first[0]
        assert value == pytest.approx(first[1], abs=1e-4)


def test_table_has_every_edge_and_nothing_where_there_is_no_value():
    posterior = fabricated(6)
    table = payload_for(posterior)["table"]
    keys = [column["key"] for column in table["columns"]]
    assert keys == [
        *("parent", "child", "probability", "reversed"),
        *("mcse", "rhat", "ess", "ess_tail", "status"),
    ]
    assert len({(row[0], row[1]) for row in table["rows"]}) == 30
    edges = posterior.edge_probabilities.to_numpy()
    for parent, child, probability, turned, *_, status in table["rows"]:
        assert probability == pytest.approx(edges[parent, child], abs=1e-6)
        assert turned == pytest.approx(edges[child, parent], abs=1e-6)
        assert (status == "constant") == (probability in (0, 1))
    without = [row for row in table["rows"] if row[keys.index("rhat")] is None]
    assert without
    assert all(row[-1] == "constant" for row in without)


def test_uncertain_edges_come_first():
    table = payload_for(fabricated(8))["table"]
    doubt = [abs(row[2] - 0.5) for row in table["rows"]]
    assert doubt == sorted(doubt)
    assert doubt[0] < 0.3 < doubt[-1]


@pytest.mark.usefixtures("no_figures")
def test_columns_without_information_are_left_out():
    posterior = exact(4)
    table = payload_for(posterior)["table"]
    keys = [column["key"] for column in table["columns"]]
    assert keys == ["parent", "child", "probability", "reversed"]
    assert table["status"] == "exact"
    assert "Status of every edge: exact." in render_report(posterior)


@pytest.mark.usefixtures("no_figures")
def test_diagnostics_are_summarized():
    """With the numbers of the verdict, not those of edges that are known precisely."""
    page = render_report(sampled())
    found = sampled().assessment
    worst, least = found.worst_rhat_of, found.smallest_ess_of
    assert f"<dd>{found.worst_rhat:.3f} ({escape(worst)})</dd>" in page
    assert f"<dd>{found.smallest_ess:,.0f} ({escape(least)})</dd>" in page
    trips = ", ".join(map(str, sampled().round_trips))
    assert f"<dt>Round trips of each chain</dt><dd>{trips}</dd>" in page
    replicas = ", ".join(str(len(record.power)) for record in sampled().records)
    assert f"<dt>Tempered replicas of each chain</dt><dd>{replicas}</dd>" in page


@pytest.mark.usefixtures("no_figures")
def test_statuses_are_counted():
    page = render_report(fabricated(6))
    frame = fabricated(6).diagnostics()
    n_constant = (frame["status"] == "constant").sum()
    assert f"<dt>Edges with status “constant”</dt><dd>{n_constant} of 30</dd>" in page
    assert not re.search(r"\bnan\b", re.sub(r"<script.*?</script>", "", page, flags=re.S), re.I)


@pytest.mark.usefixtures("no_figures")
def test_columns_of_the_data():
    rng = np.random.default_rng(1)
    data = op.Dataset(("<a>", "b"), rng.normal(size=(20, 2)))
    page = render_report(op.learn(data, seed=1), data=data)
    assert "&lt;a&gt;" in page
    assert f"mean {data.values[:, 1].mean():.6g}" in page
    asia = op.datasets.asia()
    assert "2 levels" in render_report(op.learn(asia, seed=1), data=asia)


@pytest.mark.parametrize("n", first([160, 441]))
def test_large_reports_stay_small(n):
    page = render_report(fabricated(n))
    assert len(page) < 1_500_000
    table = payload_of(page)["table"]
    assert len(table["rows"]) == MOST_ROWS
    assert table["left_out"] == n * (n - 1) - MOST_ROWS
    assert f"{n * (n - 1) - MOST_ROWS:,} less probable edges are left out here; edges.csv" in page
    assert 'id="illegible"' in page


@pytest.mark.usefixtures("no_figures")
def test_everything_is_there_in_a_small_report():
    page = render_report(fabricated(8))
    for absent in ("left-out", "illegible", "raised"):
        assert f'id="{absent}"' not in page


@pytest.mark.usefixtures("no_figures")
def test_a_crowded_graph_begins_at_a_higher_threshold():
    rng = np.random.default_rng(3)
    draws = np.triu(rng.random((2, 50, 20, 20)) < np.triu(rng.uniform(0.5, 0.8, (20, 20)), 1), 1)
    page = render_report(Fabricated(draws, tuple(f"v{i}" for i in range(20))))
    graph = payload_of(page)["graph"]
    shown = [pair for pair in graph["pairs"] if pair[2] + pair[3] >= graph["threshold"]]
    assert len(shown) <= 60 < len(graph["pairs"])
    assert f"probability {graph['threshold']:.2f} or more are shown" in page


# What is said


def visible(page: str) -> str:
    """Everything but the code of the page, which no one reads."""
    return re.sub(r"<script>.*?</script>|<style>.*?</style>", "", page, flags=re.S)


@pytest.mark.parametrize("n", [5, 2, None])
def test_an_exact_report_does_not_speak_of_chains(n):
    posterior = op.learn(op.datasets.asia(), seed=1) if n is None else exact(n)
    page = render_report(posterior)
    assert "chain" not in visible(page).lower()
    own = [text for text in re.findall(r"<script>(.*?)</script>", page, re.S) if "payload" in text]
    assert len(own) == 1
    assert "chain" not in own[0].lower()
    assert "<h2>Computed exactly</h2>" in page
    for absent in ("traces", "diagnostics"):
        assert f'id="{absent}"' not in page
        assert f'href="#{absent}"' not in page


@pytest.mark.usefixtures("no_figures")
def test_a_sampled_report_speaks_of_chains():
    assert "chain" in visible(render_report(sampled(5))).lower()


def grounds_of(posterior: op.Posterior) -> dict[str, str]:
    return dict(list_grounds(posterior))


@pytest.mark.usefixtures("no_figures")
def test_the_banner_says_what_the_numbers_rest_on():
    rng = np.random.default_rng(1)
    data = op.Dataset(("a", "b", "c"), rng.normal(size=(30, 3)))
    raw = op.learn(data, score=op.BGe(standardize=False), structure_prior="uniform", seed=1)
    assert grounds_of(raw)["Prior"].startswith("uniform")
    assert "as they are" in grounds_of(raw)["Score"]
    standardized = op.learn(data, max_parents=1, seed=1)
    facts = grounds_of(standardized)
    assert "standardized columns" in facts["Score"]
    assert facts["Prior"].startswith("fair")
    assert facts["Parents"] == "at most 1 for each variable"
    assert grounds_of(raw)["Parents"] == "no limit"
    assert "every variable" in facts["Candidates"]
    page = render_report(standardized)
    banner = page[page.index('aria-label="Verdict"') : page.index('class="tiles"')]
    assert all(str(escape(value)) in banner for value in facts.values())
    assert "relied on" not in page


def test_the_banner_tells_of_candidates():
    posterior = sampled(7)
    facts = posterior.on_candidates
    assert facts is not None
    text = grounds_of(posterior)["Candidates"]
    assert text.startswith("4 for each variable")
    assert f"{facts['mean_outside_share']:.1%}" in text
    assert f"{facts['largest_outside_share']:.1%}" in text


def test_settings_are_one_list():
    settings = dict(list_settings(sampled(7)))
    assert settings["Seed"] == "2"
    assert settings["Chains"] == "3"
    assert settings["Most parents of a variable"] == "at most 2 for each variable"
    assert settings["Candidate parents"].startswith("4 for each")
    assert not any("hain" in label for label, _ in list_settings(exact(5)))


@pytest.mark.usefixtures("no_figures")
def test_effects_and_best_dags_are_shown():
    posterior = exact(5)
    page = render_report(posterior)
    table = list_effects(posterior)
    assert table is not None
    row = table.rows[0]
    assert (
        f'<td class="name">{row.cause}</td><td class="name">{row.effect}</td>'
        f'<td class="number">{row.probability:.3f}</td>' in page
    )
    dags = list_dags(posterior)
    assert page.count("data-dag=") == len(dags) == 5
    assert f"Together these DAGs have {sum(row.probability for row in dags):.3g}" in page
    assert payload_of(page)["dags"] == [np.argwhere(row.dag.adjacency).tolist() for row in dags]
    assert 'id="effects"' not in render_report(fabricated(8))


@pytest.mark.attack("hostile names of variables")
def test_names_in_effects_and_dags_are_escaped():
    rng = np.random.default_rng(1)
    a = rng.normal(size=60)
    values = np.column_stack([a, a + rng.normal(size=60), rng.normal(size=60)])
    posterior = op.learn(op.Dataset(("<b>x</b>", "</td><script>", "c"), values), seed=1)
    page = render_report(posterior)
    assert "<b>x" not in page
    assert "</td><script>" not in page
    assert '<td class="name">&lt;b&gt;x&lt;/b&gt;</td>' in page
    assert "turns &lt;/td&gt;&lt;script&gt; → &lt;b&gt;x&lt;/b&gt;" in page or "adds &lt;" in page


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.21, "0.210"), (-12.345, "-12.3"), (1234.5, "1,234"), (3e-7, "3e-07")],
)
def test_numbers_have_three_digits(value, text):
    assert write_number(value) == text


def test_figures_follow_the_theme():
    figure = draw_heatmap(exact(4))
    assert "currentColor" in figure.svg
    assert "#010203" not in figure.svg
    assert figure.svg.startswith('<svg role="img" aria-label="Probability of every edge')


def test_same_posterior_same_page():
    posterior = exact(4)
    assert render_report(posterior) == render_report(posterior)


# Writing


def test_a_report_replaces_an_earlier_one_or_leaves_it(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("earlier")
    with pytest.raises(AttributeError):
        op.Posterior.report(object(), path)  # type: ignore[arg-type]
    assert path.read_text() == "earlier"
    exact(2).report(path)
    assert path.read_text().startswith("<!doctype html>")
    with pytest.raises(op.OptionError, match="cannot write"):
        exact(2).report(path / "below-a-file.html")
    with pytest.raises(op.OptionError, match="cannot write"):
        exact(2).report(tmp_path)


@pytest.mark.attack("hostile names of variables")
def test_names_that_are_no_text_at_all(tmp_path):
    """Half a surrogate pair, as broken files have them, cannot be encoded."""
    path = fabricated(3, ("half \ud83d", "\x00", "c")).report(tmp_path / "report.html")
    assert payload_of(path.read_text(encoding="utf-8"))["names"] == ["half \ud83d", "\x00", "c"]


# In a notebook


def test_notebook_representation():
    text = HOSTILE_POSTERIOR._repr_html_()
    assert "<script>" not in text
    assert "<i>" not in text
    assert "&lt;i&gt;fabricated&lt;/i&gt;" in text
    assert text.count("<tr>") == 11
    posterior = exact(3)
    text = posterior._repr_html_()
    assert "log evidence" in text
    first = posterior.diagnostics().iloc[0]
    assert f"<td>{first['parent']}</td><td>{first['child']}</td>" in text
    assert f"<td>{first['probability']:.3f}</td>" in text
