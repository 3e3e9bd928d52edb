"""Values in notebooks: small tables, in which names are text and never markup."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import outpoint as op
from outpoint.notebook import SHOWN, as_html

HOSTILE = ("<script>alert(1)</script>", "a&b", "\"x\" 'y'", "</table><b>")
VALUES = np.random.default_rng(3).normal(size=(30, 4))
DATA = op.Dataset(HOSTILE, VALUES, source="<i>file</i>")
DAG = op.Dag.from_edges(HOSTILE, [(HOSTILE[0], HOSTILE[1]), (HOSTILE[2], HOSTILE[1])])


class Page(HTMLParser):
    """The elements of a page that are open, all that occurred, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert attrs == []
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def posterior() -> op.Posterior:
    return op.learn(DATA, seed=1)


@pytest.mark.parametrize(
    "kind", ["Dag", "Cpdag", "Dataset", "Posterior", "CausalEffects", "TruthComparison"]
)
def test_hostile_names(kind: str, posterior: op.Posterior) -> None:
    shown = {
        "Dag": lambda: DAG,
        "Cpdag": DAG.cpdag,
        "Dataset": lambda: DATA,
        "Posterior": lambda: posterior,
        "CausalEffects": lambda: posterior.causal_effects(n_draws=50, seed=1),
        "TruthComparison": lambda: posterior.compare(DAG),
    }[kind]()
    html = shown._repr_html_()
    page = Page(html)
    assert page.open == []
    assert page.seen <= {"div", "p", "b", "br", "table", "thead", "tbody", "tr", "th", "td"}
    assert len(html) < 10_000
    if kind != "TruthComparison":
        assert HOSTILE[0] in page.text
        assert HOSTILE[1] in page.text


def test_a_dag_shows_its_families() -> None:
    dag = op.Dag.from_edges(["a", "b", "c"], [("b", "a"), ("c", "a")])
    assert "<td>a</td><td>b, c</td>" in dag._repr_html_()
    assert "Dag: 3 nodes, 2 edges" in dag._repr_html_()


def test_a_cpdag_shows_both_kinds_of_edges() -> None:
    edges = [("a", "c"), ("b", "c"), ("d", "e")]
    html = op.Dag.from_edges(list("abcde"), edges).cpdag()._repr_html_()
    assert "<td>a</td><td>→</td><td>c</td>" in html
    assert "<td>d</td><td>—</td><td>e</td>" in html


def test_data_show_kinds_and_first_values() -> None:
    levels = (None, ("no", "yes"))
    html = op.Dataset(("x", "g"), [[1.5, 0], [2.5, 1]], levels, notes=("a note",))._repr_html_()
    assert "<td>x</td><td>continuous</td><td>1.5, 2.5</td>" in html
    assert "<td>g</td><td>categorical</td><td>no, yes</td>" in html
    assert "a note" in html


def test_long_tables_are_cut() -> None:
    dag = op.Dag.empty([f"v{i}" for i in range(100)])
    html = dag._repr_html_()
    assert html.count("<tr>") == SHOWN + 1
    assert "the first 20 of 100 nodes" in html


def test_everything_is_escaped() -> None:
    html = as_html("<1>", ["<2>"], [["<3>"]], "<4>")
    assert re.findall(r"&lt;(\d)&gt;", html) == ["1", "4", "2", "3"]
