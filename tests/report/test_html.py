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
from outpoint.report import render_report
from outpoint.report.figures import draw_heatmap
from outpoint.report.payload import MOST_ROWS, build_payload, to_json
from tests.report.posteriors import HOSTILE, exact, fabricated, sampled


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
PAGE = render_report(HOSTILE_POSTERIOR)
PARSED = Elements(PAGE)


def payload_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


# Safety


def test_names_cannot_leave_the_data():
    assert payload_of(PAGE)["names"] == list(HOSTILE)
    assert [tag for tag, _ in PARSED.tags].count("script") == 3
    assert not any(attrs.get("onerror") for _, attrs in PARSED.tags)
    assert "{{ 7 * 7 }}" not in re.sub("<[^>]+>", "", PAGE[: PAGE.index("<main>")])
    assert ">49<" not in PAGE


def test_json_in_a_script_has_no_markup():
    text = to_json({"names": ["</script>", "<!--", "&amp;", "\u2028\u2029", "\ud800"]})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text)["names"] == ["</script>", "<!--", "&amp;", "\u2028\u2029", "\ud800"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"rhat": float("nan")})


def test_text_from_the_run_is_escaped():
    assert "<b>bold</b>" not in PAGE
    assert "<i>fabricated</i>" not in PAGE
    assert html.escape("fabricated & <b>bold</b>") in PAGE
    page = render_report(HOSTILE_POSTERIOR, command="outpoint learn '<u>x</u>'")
    assert "<u>" not in page
    assert "&lt;u&gt;x&lt;/u&gt;" in page


def test_nothing_is_loaded_from_elsewhere():
    loading = ("src", "srcset", "action", "poster", "data")
    for tag, attrs in PARSED.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert not any(attrs.get(name) for name in loading)
        for name in ("href", "xlink:href"):
            assert (attrs.get(name) or "#").startswith(("#", "data:image/png"))
    assert not any("url(" in text.replace("url(#", "") for text in PARSED.raw[:1])


def test_policy_allows_exactly_what_is_there():
    policy = next(a["content"] for t, a in PARSED.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    allowed = set(re.findall("'sha256-([^']+)'", policy))
    inline = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", PAGE, re.S)
    found = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline}
    assert found == allowed
    assert len(found) == 3
    assert not any("style" in attrs for _, attrs in PARSED.tags), "inline styles are forbidden"
    assert not any(name.startswith("on") for _, attrs in PARSED.tags for name in attrs)


def test_ids_are_unique():
    ids = [attrs["id"] for _, attrs in PARSED.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = re.findall(r'(?:url\(#|href="#)([^)"]+)', PAGE)
    assert set(targets) <= set(ids)
    assert targets


# Content


@pytest.mark.parametrize("posterior", [exact(5), sampled(5), sampled(5, chains=1), exact(2)])
def test_every_kind_of_posterior_has_a_report(posterior, tmp_path):
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
    payload = build_payload(posterior, posterior.diagnostics())
    edges = posterior.edge_probabilities.to_numpy()
    for pair in payload["graph"]["pairs"]:
        a, b = pair["upper"], pair["lower"]
        assert pair["down"] == pytest.approx(edges[a, b], abs=1e-4)
        assert pair["up"] == pytest.approx(edges[b, a], abs=1e-4)
        assert pair["compelled_down"] + pair["compelled_up"] + pair["reversible"] <= 1.001
    strong = (np.triu(edges + edges.T) >= 0.05).sum()
    assert len(payload["graph"]["pairs"]) == strong > 0
    for node, details in enumerate(payload["nodes"]):
        members, value = details["sets"][0]
        first = posterior.parent_set_probabilities(node)[0]
        assert tuple(posterior.names[i] for i in members) == first[0]
        assert value == pytest.approx(first[1], abs=1e-4)


def test_table_has_every_edge_and_words_for_what_has_no_value():
    posterior = fabricated(6)
    table = build_payload(posterior, posterior.diagnostics())["table"]
    keys = [column["key"] for column in table["columns"]]
    assert keys == [
        *("parent", "child", "probability", "reversed"),
        *("mcse", "rhat", "ess", "ess_tail", "status"),
    ]
    assert len(table["rows"]) == 30
    edges = posterior.edge_probabilities.to_numpy()
    for parent, child, probability, turned, *_, status in table["rows"]:
        assert probability == pytest.approx(edges[parent, child], abs=1e-6)
        assert turned == pytest.approx(edges[child, parent], abs=1e-6)
        assert (status == "constant") == (probability in (0, 1))
    without = [row for row in table["rows"] if row[keys.index("rhat")] is None]
    assert without
    assert all(row[-1] == "constant" for row in without)


def test_columns_without_information_are_left_out():
    posterior = exact(4)
    table = build_payload(posterior, posterior.diagnostics())["table"]
    keys = [column["key"] for column in table["columns"]]
    assert keys == ["parent", "child", "probability", "reversed", "status"]


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


def test_statuses_are_counted():
    page = render_report(fabricated(6))
    frame = fabricated(6).diagnostics()
    n_constant = (frame["status"] == "constant").sum()
    assert f"<dt>Edges with status “constant”</dt><dd>{n_constant} of 30</dd>" in page
    assert not re.search(r"\bnan\b", re.sub(r"<script.*?</script>", "", page, flags=re.S), re.I)


def test_columns_of_the_data():
    rng = np.random.default_rng(1)
    data = op.Dataset(("<a>", "b"), rng.normal(size=(20, 2)))
    page = render_report(op.learn(data, seed=1), data=data)
    assert "&lt;a&gt;" in page
    assert f"mean {data.values[:, 1].mean():.6g}" in page
    asia = op.datasets.asia()
    assert "2 levels" in render_report(op.learn(asia, seed=1), data=asia)


def test_large_reports_stay_small():
    page = render_report(fabricated(200))
    assert len(page) < 1_500_000
    table = payload_of(page)["table"]
    assert len(table["rows"]) == MOST_ROWS
    assert table["left_out"] == 200 * 199 - MOST_ROWS


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
    with pytest.raises(op.OptionError, match="cannot write the report"):
        exact(2).report(path / "below-a-file.html")
    with pytest.raises(op.OptionError, match="cannot write the report"):
        exact(2).report(tmp_path)


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
