"""Whole graphs, neighbourhoods and single DAGs: what is chosen is shown, and nothing is clipped."""

from itertools import product

import numpy as np
import pytest

from outpoint.report.answers import list_dags
from outpoint.report.payload import NEAR
from tests.grids import first
from tests.report.posteriors import HOSTILE, exact, fabricated, sampled


def shown_nodes(page):
    return {
        int(node)
        for node in page.run(
            "return [...document.querySelectorAll('.node')].map(n => n.dataset.node)"
        )
    }


def outside(page):
    """How far nodes and lines reach beyond the drawing, in the units of the page."""
    return page.run(
        """
        const drawing = document.querySelector('#drawing');
        const svg = drawing.getBoundingClientRect();
        const parts = drawing.querySelectorAll('rect, text, .line, .head');
        return Math.max(...[...parts].filter(p => p.getAttribute('d') !== '').map((part) => {
          const box = part.getBoundingClientRect();
          return Math.max(svg.left - box.left, svg.top - box.top,
                          box.right - svg.right, box.bottom - svg.bottom);
        }))
        """
    )


POSTERIORS = {
    "exact": lambda: exact(5),
    "hostile": lambda: fabricated(len(HOSTILE), HOSTILE),
    "14": lambda: fabricated(14),
    "60": lambda: fabricated(60),
    "441": lambda: fabricated(441),
}


@pytest.mark.parametrize(("kind", "width"), first(product(POSTERIORS, [1400, 360]), 2))
def test_nothing_is_clipped(open_report, driver, kind, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page = open_report(POSTERIORS[kind]())
    page.set_value("#threshold", "0.05")
    assert outside(page) < 1
    page.set_value("#find", "2", "change")
    page.one("#zoom-all").click()
    for scope in ("around", "whole"):
        page.run("arguments[0].click()", page.one(f"input[value={scope}]"))
        assert outside(page) < 1
    scroll, inner = page.run("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert scroll <= inner == width


@pytest.mark.parametrize("n", first([37, 14, 60]))
def test_labels_can_be_read_at_once(open_report, driver, n):
    size = {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page = open_report(fabricated(n, tuple(f"variable {i}" for i in range(n))))
    assert len(page.all(".node")) == n
    scale = page.run("return document.querySelector('#drawing').getScreenCTM().a")
    assert 13 * scale >= 8.5, "pixels"


def test_the_graph_uses_the_width_of_the_page(open_report, driver):
    size = {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page = open_report(fabricated(37))
    assert page.one(".stage").rect["width"] > 1250
    left, right = page.run(
        "const b = [...document.querySelectorAll('.node')].map(n => n.getBoundingClientRect());"
        "return [Math.min(...b.map(x => x.left)), Math.max(...b.map(x => x.right))]"
    )
    assert right - left > 900


def test_a_neighbourhood(open_report):
    posterior = fabricated(25)
    page = open_report(posterior)
    page.set_value("#find", "7", "change")
    assert len(page.all(".node")) == 25
    page.one("input[value=around]").click()
    edges = posterior.edge_probabilities.to_numpy()
    blanket = posterior.blanket_probabilities.to_numpy()
    near = (edges + edges.T >= NEAR)[7] | (blanket[7] >= 0.5)
    near[7] = True
    assert shown_nodes(page) == set(np.flatnonzero(near).tolist())
    assert page.one(".node.chosen").get_attribute("data-node") == "7"
    assert page.one("#details .title").text == "v7"
    pairs = [e.get_attribute("data-pair").split("-") for e in page.all("g.edge")]
    inside = np.triu(edges + edges.T, 1)[np.ix_(near, near)] >= 0.5
    assert len(pairs) == inside.sum() > 0
    other = next(node for node in shown_nodes(page) if node != 7)
    page.run(
        "arguments[0].dispatchEvent(new Event('click'))", page.one(f".node[data-node='{other}']")
    )
    assert page.one(".node.chosen").get_attribute("data-node") == str(other)
    assert other in shown_nodes(page), "one walks from neighbour to neighbour"
    assert page.one("#find").get_attribute("value") == str(other)
    page.one("#details .close").click()
    assert len(page.all(".node")) == 25
    assert page.one("input[value=whole]").is_selected()


def test_neighbours_by_keyboard(open_report):
    page = open_report(fabricated(25))
    page.one("input[value=around]").click()
    page.run("document.querySelector('.node:not(.chosen)').focus()")
    name = page.focused().get_attribute("aria-label")
    page.focused().send_keys("\ue007")
    assert page.one("#details .title").text == name
    assert page.focused().get_attribute("aria-label") == name, "focus stays with the variable"
    page.focused().send_keys("\ue00c")
    assert len(page.all(".node")) == 25
    assert page.focused().get_attribute("aria-label") == name


def test_many_variables_begin_with_a_neighbourhood(open_report):
    posterior = fabricated(200)
    page = open_report(posterior)
    assert page.one("input[value=around]").is_selected()
    assert 1 < len(page.all(".node")) <= 25
    edges = posterior.edge_probabilities.to_numpy()
    strength = np.where(edges + edges.T >= 0.5, edges + edges.T, 0).sum(axis=0)
    hub = int(page.one("#find").get_attribute("value"))
    assert strength[hub] == pytest.approx(strength.max())
    page.one("input[value=whole]").click()
    assert len(page.all(".node")) == 200


def test_choosing_keeps_the_zoom(open_report):
    page = open_report(fabricated(25))
    page.one("#zoom-in").click()
    before = page.run("return document.querySelector('#drawing > g').getAttribute('transform')")
    page.run("document.querySelector(\".node[data-node='3']\").dispatchEvent(new Event('click'))")
    assert page.one("#details .title").text == "v3"
    after = page.run("return document.querySelector('#drawing > g').getAttribute('transform')")
    assert before == after != "translate(0,0) scale(1)"


def test_loose_neighbours_are_marked(open_report):
    """A neighbour without a connection that is probable enough stays, but as one in doubt."""
    page = open_report(fabricated(25))
    page.set_value("#find", "7", "change")
    page.one("input[value=around]").click()
    page.set_value("#threshold", "1")
    ends = {end for e in page.all("g.edge") for end in e.get_attribute("data-pair").split("-")}
    loose = {node.get_attribute("data-node") for node in page.all(".node.loose")}
    assert loose == {str(node) for node in shown_nodes(page)} - ends - {"7"}
    assert loose


def test_probabilities_on_lines(open_report):
    posterior = fabricated(8)
    page = open_report(posterior)
    assert page.texts(".number-on-line") == []
    page.one("#numbers").click()
    edges = posterior.edge_probabilities.to_numpy()
    wanted = []
    for edge in page.all("g.edge"):
        a, b = map(int, edge.get_attribute("data-pair").split("-"))
        along, against = sorted((edges[a, b], edges[b, a]), reverse=True)
        known = along >= 0.75 * (along + against)
        wanted.append(
            two_digits(along) if known else f"{two_digits(along)} / {two_digits(against)}"
        )
    assert page.texts(".number-on-line") == wanted
    assert wanted
    page.one("#numbers").click()
    assert page.texts(".number-on-line") == []


def two_digits(value):
    value = round(value, 4)
    if 0 < value < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 < value < 1 else f"{value:.2f}"


def test_a_single_dag(open_report):
    posterior = exact(5)
    page = open_report(posterior)
    dags = list_dags(posterior)
    page.all("button[data-dag]")[1].click()
    assert page.one("#show").get_attribute("value") == "1"
    assert len(page.all("g.edge")) == len(dags[1].dag.edges)
    assert page.one("#count").text == f"{len(dags[1].dag.edges)} edges of DAG 2 among 5 variables"
    assert not page.one("#threshold").is_enabled()
    drawn = page.run(
        """
        return [...document.querySelectorAll('g.edge')].map((edge) => {
          const [upper, lower] = edge.dataset.pair.split('-').map(Number);
          const head = edge.querySelector('.head').getAttribute('d');
          const tip = Number(head.split('L')[0].split(' ')[1]);
          const y = (n) => Number(document.querySelector(`.node[data-node='${n}']`)
            .getAttribute('transform').split(',')[1].replace(')', ''));
          const down = Math.abs(tip - y(lower)) < Math.abs(tip - y(upper));
          return down ? [upper, lower] : [lower, upper];
        })
        """
    )
    names = posterior.names
    assert {(names[a], names[b]) for a, b in drawn} == set(dags[1].dag.edges)
    page.set_value("#show", "", "change")
    assert page.one("#threshold").is_enabled()


def test_an_exact_page_never_says_chain(open_report):
    page = open_report(exact(5))
    page.one(".node").click()
    page.one("#numbers").click()
    visible = page.one("body").text.lower()
    assert "chain" not in visible
    assert "chain" in open_report(sampled(6)).one("body").text.lower()
