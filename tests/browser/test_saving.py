"""What the page saves: the graph as it is drawn, and edges that no spreadsheet runs as formulas."""

import csv
import io
import struct
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.grids import first
from tests.report.posteriors import HOSTILE, exact, fabricated, sampled

SVG = "{http://www.w3.org/2000/svg}"
FORMULAS = ("=1+1", "+cmd", "-2", "@SUM(A1)", 'quote "q", comma', " \t=tab", "plain", "\t=x")


def svg_of(content):
    return ElementTree.fromstring(content.decode("utf-8"))


def test_the_graph_as_svg(open_report, saved):
    posterior = fabricated(8)
    page = open_report(posterior)
    page.one("#save-svg").click()
    root = svg_of(saved("outpoint-graph.svg"))
    labels = {text.text for text in root.iter(SVG + "text")}
    assert labels == set(posterior.names)
    n_shown = len(page.all("g.edge"))
    paths = [path for path in root.iter(SVG + "path") if path.get("d")]
    assert len(paths) == 2 * n_shown, "a line and a head each, and nothing invisible"
    assert {path.get("stroke") for path in paths} <= {"rgb(0, 114, 178)", "rgb(184, 123, 0)"}
    assert root.find(SVG + "desc").text == page.one("#count").text
    for element in root.iter():
        assert not {"class", "style", "tabindex", "role"} & set(element.keys())
    x, y, width, height = map(float, root.get("viewBox").split())
    assert (float(root.get("width")), float(root.get("height"))) == (width, height)
    for group in root.iter(SVG + "g"):
        if group.find(SVG + "text") is not None and group.get("transform"):
            left, top = map(float, group.get("transform")[10:-1].split(","))
            assert x < left < x + width
            assert y < top < y + height


def test_what_is_drawn_is_what_is_saved(open_report, saved):
    """Threshold, probabilities and neighbourhood are those of the page; zooming is not."""
    posterior = fabricated(25)
    page = open_report(posterior)
    page.set_value("#find", "3", "change")
    page.one("input[value=around]").click()
    page.set_value("#threshold", "0.2")
    page.one("#numbers").click()
    page.one("#zoom-in").click()
    page.one("#save-svg").click()
    root = svg_of(saved("outpoint-graph.svg"))
    texts = [text.text for text in root.iter(SVG + "text")]
    assert sorted(texts) == sorted(page.texts("#drawing text"))
    assert len([text for text in texts if text.startswith(("0.", "1.", ">"))]) > 0
    assert "scale" not in "".join(group.get("transform", "") for group in root.iter(SVG + "g"))


@pytest.mark.parametrize("theme", first(["dark", "light"]))
def test_the_graph_as_png(open_report, driver, saved, theme):
    """A picture on white paper, also where the page is dark, with something in it."""
    feature = {"name": "prefers-color-scheme", "value": theme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    page = open_report(exact(5))
    page.one("#save-png").click()
    content = saved("outpoint-graph.png")
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    box = [float(side) for side in page.one("#drawing").get_dom_attribute("viewBox").split()]
    assert (width, height) == pytest.approx((2 * box[2], 2 * box[3]), abs=2)
    pixels = read_png(content)
    assert (pixels[0, 0, :3] == 255).all()
    dark = (pixels[:, :, :3].max(axis=2) < 120).mean()
    assert 0.0005 < dark < 0.2, "labels are dark on white"
    assert not page.one("#save-failed").is_displayed()


def read_png(content):
    from matplotlib.image import imread

    return np.round(imread(io.BytesIO(content), format="png") * 255)


def test_the_edges_as_csv(open_report, saved):
    posterior = sampled(6)
    page = open_report(posterior)
    page.one("#save-csv").click()
    rows = list(csv.DictReader(io.StringIO(saved("outpoint-edges.csv").decode("utf-8"))))
    assert len(rows) == 30, "all of them, not only those that the page shows"
    edges = posterior.edge_probabilities
    for row in rows:
        assert float(row["probability"]) == pytest.approx(
            edges.loc[row["parent"], row["child"]], abs=1e-6
        )
        assert float(row["reversed"]) == pytest.approx(
            edges.loc[row["child"], row["parent"]], abs=1e-6
        )
    doubt = [abs(float(row["probability"]) - 0.5) for row in rows]
    assert doubt == sorted(doubt)
    page.one("#filter").send_keys(posterior.names[2])
    page.one("#save-csv").click()
    rows = list(csv.DictReader(io.StringIO(saved("outpoint-edges.csv").decode("utf-8"))))
    assert len(rows) == 10
    assert all(posterior.names[2] in (row["parent"], row["child"]) for row in rows)


def test_no_cell_is_a_formula(open_report, saved):
    page = open_report(fabricated(len(FORMULAS), FORMULAS))
    page.one("#save-csv").click()
    text = saved("outpoint-edges.csv").decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == len(FORMULAS) * (len(FORMULAS) - 1)
    found = {row["parent"] for row in rows} | {row["child"] for row in rows}
    assert found == {
        *("'=1+1", "'+cmd", "'-2", "'@SUM(A1)", 'quote "q", comma', " \t=tab", "plain", "'\t=x")
    }
    for row in rows:
        for cell in row.values():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_hostile_names_stay_text_in_what_is_saved(open_report, saved):
    page = open_report(fabricated(len(HOSTILE), HOSTILE))
    page.one("#save-svg").click()
    root = svg_of(saved("outpoint-graph.svg"))
    titles = {title.text for title in root.iter(SVG + "title")}
    assert "<script>alert(1)</script>" in titles
    assert not list(root.iter(SVG + "script"))
    assert not list(root.iter("{http://www.w3.org/1999/xhtml}img"))
    page.one("#save-csv").click()
    text = saved("outpoint-edges.csv").decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert {row["parent"] for row in rows} == set(HOSTILE)


def test_names_that_are_no_text_can_be_saved(open_report, saved):
    page = open_report(fabricated(3, ("half \ud83d", "\x00", "c")))
    page.one("#save-svg").click()
    titles = {title.text for title in svg_of(saved("outpoint-graph.svg")).iter(SVG + "title")}
    assert titles == {"half \ufffd", "\ufffd", "c"}
