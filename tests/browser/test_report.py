"""The report in a real browser: everything that can be clicked, typed or read."""

import base64
from pathlib import Path

import numpy as np
import pytest

from outpoint.report.payload import count_features
from tests.browser.conftest import missing
from tests.grids import first
from tests.report.posteriors import HOSTILE, exact, fabricated, sampled

ENTER, SPACE, ESCAPE, DOWN, TAB, END = "\ue007", " ", "\ue00c", "\ue015", "\ue004", "\ue010"


def expected_pairs(posterior, threshold):
    edges = posterior.edge_probabilities.to_numpy()
    return int((np.triu(edges + edges.T, 1) >= threshold).sum())


@pytest.mark.parametrize("variable", ["CI", "OUTPOINT_REQUIRE_BROWSER"])
def test_a_missing_browser_is_loud(monkeypatch, variable):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("OUTPOINT_REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="NOT TESTED IN A BROWSER: Chromium"):
        missing("Chromium")
    monkeypatch.setenv(variable, "1")
    with pytest.raises(pytest.fail.Exception, match="NOT TESTED IN A BROWSER: Chromium"):
        missing("Chromium")


# The graph


def test_slider_changes_the_graph(open_report):
    posterior = fabricated(8)
    page = open_report(posterior)
    assert len(page.all(".node")) == 8
    seen = []
    for threshold in (0.5, 0.05, 0.9, 1.0):
        page.set_value("#threshold", str(threshold))
        seen.append(len(page.all("g.edge")))
        assert seen[-1] == expected_pairs(posterior, threshold)
        assert page.one("#threshold-value").text == f"{threshold:.2f}"
        assert page.one("#count").text.startswith(f"{seen[-1]} connection")
    assert len(set(seen)) > 2


def test_slider_by_keyboard(open_report):
    page = open_report(fabricated(8))
    slider = page.one("#threshold")
    slider.send_keys(END)
    assert page.one("#threshold-value").text == "1.00"
    slider.send_keys("\ue012")  # arrow to the left
    assert page.one("#threshold-value").text == "0.99"


def drawn_arrows(page):
    """For every connection shown: whether its direction counts as known, and has an arrow."""
    return {
        pair: (known, arrow)
        for pair, known, arrow in page.run(
            "return [...document.querySelectorAll('g.edge')].map(e => [e.dataset.pair,"
            "e.querySelector('.line').classList.contains('known'),"
            "e.querySelector('.head').getAttribute('d') !== ''])"
        )
    }


def is_known(forward, pair):
    a, b = map(int, pair.split("-"))
    return max(forward[a, b], forward[b, a]) >= 0.75 * (forward[a, b] + forward[b, a])


def test_cpdag_view(open_report):
    posterior = fabricated(8)
    page = open_report(posterior)
    page.set_value("#threshold", "0.2")
    edges = posterior.edge_probabilities.to_numpy()
    as_dag = drawn_arrows(page)
    assert as_dag == {pair: (is_known(edges, pair), True) for pair in as_dag}
    page.one("input[value=cpdag]").click()
    features = count_features(posterior)
    forward = features.compelled + features.reversible / 2
    as_cpdag = drawn_arrows(page)
    assert as_cpdag == {pair: (is_known(forward, pair),) * 2 for pair in as_dag}
    known = [one for one, _ in as_cpdag.values()]
    assert 0 < sum(known) < len(known)
    assert known != [one for one, _ in as_dag.values()]
    assert page.one("#key-doubt").text == "mostly reversible"
    page.one("input[value=dag]").click()
    assert drawn_arrows(page) == as_dag


@pytest.mark.parametrize("way", first(["click", "Enter", "space", "list"], 2))
def test_a_node_shows_its_panel(open_report, way):
    posterior = exact(5)
    page = open_report(posterior)
    node = page.one(".node[data-node='3']")
    if way == "click":
        node.click()
    elif way == "list":
        page.set_value("#find", "3", "change")
    else:
        page.run("arguments[0].focus()", node)
        page.focused().send_keys(ENTER if way == "Enter" else SPACE)
    assert page.one("#details .title").text == posterior.names[3]
    members, probability = posterior.parent_set_probabilities(3)[0]
    first = page.texts("#details table:nth-of-type(1) tr:first-child > *")
    assert first == [", ".join(members) or "no parents", shown(probability)]
    assert node.get_attribute("aria-pressed") == "true"
    assert page.one("#find").get_attribute("value") == "3"
    page.run("arguments[0].focus()", node)
    page.focused().send_keys(ESCAPE)
    assert not page.all("#details .title")
    assert node.get_attribute("aria-pressed") == "false"


def shown(value):
    if 0 < value < 0.0005:
        return "<0.001"
    return ">0.999" if 0.9995 < value < 1 else f"{value:.3f}"


def test_the_panel_lists_the_markov_blanket(open_report):
    posterior = fabricated(8)
    page = open_report(posterior)
    page.one(".node[data-node='2']").click()
    dags = list(posterior.iter_dags())
    name = posterior.names[2]
    share = {
        other: np.mean([other in dag.markov_blanket(name) for dag in dags])
        for other in posterior.names
        if other != name
    }
    wanted = sorted((round(value, 3) for value in share.values() if value >= 0.05), reverse=True)
    rows = page.texts("#details table:nth-of-type(2) td")
    np.testing.assert_allclose([float(text.strip("<>")) for text in rows], wanted, atol=2e-3)
    members = {int(node.get_attribute("data-node")) for node in page.all(".node.member")}
    assert members == {posterior.names.index(k) for k, value in share.items() if value >= 0.5}
    own = [edge.get_attribute("data-pair").split("-") for edge in page.all("g.edge.own")]
    assert own
    assert all("2" in pair for pair in own)
    assert len(own) == sum("2" in pair.split("-") for pair in drawn_arrows(page))
    page.one("#details .close").click()
    assert not page.all(".node.member, g.edge.own")


def test_arrow_keys_move_between_nodes(open_report):
    page = open_report(fabricated(8))
    assert len(page.all(".node[tabindex='0']")) == 1, "the graph is one stop of the Tab key"
    page.run("document.querySelector(\".node[tabindex='0']\").focus()")
    first = page.focused()
    first.send_keys(DOWN)
    second = page.focused()
    assert second.get_attribute("data-node") != first.get_attribute("data-node")
    assert second.get_attribute("class") == "node"
    y = [node.rect["y"] for node in (first, second)]
    assert y[0] < y[1]
    assert len(page.all(".node[tabindex='0']")) == 1


def test_hovering_an_edge_tells_both_directions(open_report):
    from selenium.webdriver import ActionChains

    posterior = fabricated(5)
    page = open_report(posterior)
    edge = page.one("g.edge")
    upper, lower = map(int, edge.get_attribute("data-pair").split("-"))
    x, y = page.run(
        "const p = arguments[0].querySelector('.hit'); p.scrollIntoView({block: 'center'});"
        "const q = p.getPointAtLength(p.getTotalLength() / 2), m = p.getScreenCTM();"
        "return [m.a * q.x + m.e, m.d * q.y + m.f]",
        edge,
    )
    assert not page.one("#tip").is_displayed()
    mouse = ActionChains(page.driver)
    mouse.w3c_actions.pointer_action.move_to_location(int(x), int(y))
    mouse.perform()
    assert page.one("#tip").is_displayed()
    edges = posterior.edge_probabilities.to_numpy()
    a, b = posterior.names[upper], posterior.names[lower]
    assert page.texts("#tip div")[:2] == [
        f"{a} → {b}{shown(edges[upper, lower])}",
        f"{b} → {a}{shown(edges[lower, upper])}",
    ]


def test_zoom_buttons(open_report):
    page = open_report(fabricated(5))
    before = page.one(".node").rect["width"]
    page.one("#zoom-in").click()
    assert page.one(".node").rect["width"] == pytest.approx(1.5 * before, rel=0.02)
    page.one("#zoom-all").click()
    assert page.one(".node").rect["width"] == pytest.approx(before, rel=0.02)


@pytest.mark.parametrize(("ctrl", "growth"), [(True, 2**0.2), (False, 1.0)])
def test_the_wheel_zooms_gently_and_only_with_ctrl(open_report, ctrl, growth):
    page = open_report(fabricated(5))
    before = page.one(".node").rect["width"]
    page.run(
        "arguments[0].dispatchEvent(new WheelEvent('wheel', "
        "{deltaY: -100, ctrlKey: arguments[1], bubbles: true, cancelable: true}))",
        page.one("#drawing"),
        ctrl,
    )
    assert page.one(".node").rect["width"] == pytest.approx(growth * before, rel=0.02)


# The table


def column(page, number):
    return page.texts(f"#edge-table tbody td:nth-child({number})")


def test_sorting(open_report):
    page = open_report(fabricated(8))
    buttons = page.all("#edge-table thead button")
    assert [button.text for button in buttons][:4] == ["Parent", "Child", "Probability", "Reversed"]
    first = column(page, 3)
    doubt = np.abs(np.array(first, dtype=float) - 0.5)
    assert (np.diff(doubt) > -0.0015).all(), "the most uncertain edges come first"
    assert doubt[0] < 0.2 < doubt[-1]
    assert page.one("#uncertain").get_attribute("aria-pressed") == "true"
    for descending in (True, False):
        buttons[2].click()
        values = [float(text) for text in column(page, 3)]
        assert values == sorted(values, reverse=descending)
    assert page.one("#uncertain").get_attribute("aria-pressed") == "false"
    assert page.one("#edge-table th:nth-child(3)").get_attribute("aria-sort") == "ascending"
    page.run("arguments[0].focus()", buttons[0])
    buttons[0].send_keys(ENTER)
    assert column(page, 1) == sorted(column(page, 1))
    assert len(page.all("#edge-table th[aria-sort]")) == 1
    page.one("#uncertain").click()
    assert column(page, 3) == first
    assert not page.all("#edge-table th[aria-sort]")


def test_what_has_no_value_is_a_dash_and_comes_last(open_report):
    page = open_report(fabricated(5))
    titles = page.texts("#edge-table thead th")
    rhat = titles.index("R-hat") + 1
    for _ in range(2):
        page.all("#edge-table thead button")[rhat - 1].click()
        values = column(page, rhat)
        dashes = values.index("–")
        assert dashes > 0
        assert set(values[dashes:]) == {"–"}
        [float(text) for text in values[:dashes]]
    assert "NaN" not in page.one("body").text
    assert "null" not in page.one("#edge-table").text


def test_filter(open_report):
    page = open_report(fabricated(8))
    assert page.one("#rows").text == "25 of 56 edges"
    page.one("#filter").send_keys("V3")
    pairs = list(zip(column(page, 1), column(page, 2), strict=True))
    assert len(pairs) == 14
    assert all("v3" in pair for pair in pairs)
    assert page.one("#rows").text == "14 of 14 edges"
    page.one("#filter").send_keys("nothing")
    assert column(page, 1) == []


def test_long_tables_grow_on_demand(open_report):
    page = open_report(fabricated(40))
    assert page.one("#rows").text == "25 of 1,560 edges"
    page.one("#more").click()
    assert len(column(page, 1)) == 225


def test_rows_are_whole(open_report):
    """No window of its own cuts the last row; the page has them all."""
    page = open_report(fabricated(40))
    inside, outside = page.run(
        "const s = document.querySelector('#edges .scroll');return [s.scrollHeight, s.clientHeight]"
    )
    assert inside == outside


# Safety


def test_hostile_names_are_text(open_report):
    page = open_report(fabricated(len(HOSTILE), HOSTILE))
    assert page.texts("#find option")[1:5] == list(HOSTILE[:4])
    for node, name in enumerate(HOSTILE):
        page.set_value("#find", str(node), "change")
        assert page.texts("#details .title") == [name]
        assert page.texts(f".node[data-node='{node}'] title") == [name]
        page.set_value("#filter", name.split()[0])
        assert name in column(page, 1)
    assert page.all("main img, main iframe, main b, main i") == []
    assert len(page.all("script")) == 3
    assert page.run("return ({}).polluted === undefined && window.alert.toString()").count("native")


def test_no_request_leaves_the_page(open_report, tmp_path):
    page = open_report(sampled(6))
    page.one(".node").click()
    assert page.run("return performance.getEntriesByType('resource').map(e => e.name)") == []
    asked = [url for url in page.requests() if not url.startswith("data:image/png;base64,")]
    assert asked == [(tmp_path / "report.html").as_uri()]


def test_the_policy_is_in_force(driver, tmp_path):
    """Code that is smuggled into the file does not run, and the check above would notice."""
    path = Path(exact(3).report(tmp_path / "report.html"))
    text = path.read_text(encoding="utf-8")
    smuggled = "<script>window.smuggled = 1</script><img src='http://127.0.0.1:9/x.png'></body>"
    path.write_text(text.replace("</body>", smuggled), encoding="utf-8")
    driver.get(path.as_uri())
    assert driver.execute_script("return window.smuggled") is None
    messages = [entry["message"] for entry in driver.get_log("browser")]
    assert sum("Content Security Policy" in message for message in messages) >= 2


# Sizes and media


@pytest.mark.long
def test_two_hundred_nodes(open_report):
    page = open_report(fabricated(200))
    page.one("#details .close").click()
    assert len(page.all(".node")) == 200
    assert len(page.all("g.edge")) == expected_pairs(fabricated(200), 0.5)
    times = page.run(
        "const started = performance.now();"
        "const slider = document.querySelector('#threshold');"
        "for (const value of [0.05, 0.3, 0.9]) {"
        "  slider.value = value; slider.dispatchEvent(new Event('input')); }"
        "return performance.now() - started"
    )
    assert times < 5000
    before = page.one(".node[data-node='150'] text").rect["height"]
    page.set_value("#find", "150", "change")
    assert page.one("#details .title").text == "v150"
    node = page.one(".node[data-node='150']")
    assert node.find_element("css selector", "text").rect["height"] > max(9, 1.5 * before)
    stage, box = page.one(".stage").rect, node.rect
    assert stage["x"] <= box["x"] <= stage["x"] + stage["width"] - box["width"]
    assert stage["y"] <= box["y"] <= stage["y"] + stage["height"] - box["height"]
    assert page.one("#left-out").is_displayed()


@pytest.mark.parametrize("kind", first(["sampled", "large", "exact", "hostile"]))
def test_a_phone_does_not_scroll_sideways(open_report, driver, kind):
    posterior = {
        "exact": exact(5),
        "sampled": sampled(6),
        "hostile": fabricated(len(HOSTILE), HOSTILE),
        "large": fabricated(441),
    }[kind]
    phone = {"width": 360, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    page = open_report(posterior)
    page.set_value("#find", "0", "change")
    width, inner = page.run("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert inner == 360
    assert width <= 360


def luminance(page, selector, property_name):
    colour = page.run(
        "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]",
        selector,
        property_name,
    )
    red, green, blue = (
        (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4)
        for c in (int(text) / 255 for text in colour.split("(")[1].strip(")").split(",")[:3])
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_in_both_themes(open_report, driver, theme):
    """Contrast of at least 4.5, as WCAG 2 asks for."""
    feature = {"name": "prefers-color-scheme", "value": theme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    page = open_report(sampled(6))
    card = luminance(page, "main > section", "backgroundColor")
    assert (card < 0.5) == (theme == "dark")
    texts = {
        "#edge-table td": "color",
        "figcaption": "color",
        "figure text": "fill",
        "nav a": "color",
    }
    for selector, name in texts.items():
        brighter, darker = sorted([luminance(page, selector, name), card], reverse=True)
        assert (brighter + 0.05) / (darker + 0.05) >= 4.5, selector
    page_colour = luminance(page, ".verdict", "backgroundColor")
    heading = luminance(page, ".verdict h2", "color")
    brighter, darker = sorted([page_colour, heading], reverse=True)
    assert (brighter + 0.05) / (darker + 0.05) >= 4.5


def test_printing(open_report, driver):
    page = open_report(sampled(6))
    printed = driver.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert base64.b64decode(printed).startswith(b"%PDF")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    for hidden in ("nav", "#find", "#filter", ".zoom"):
        assert not page.one(hidden).is_displayed()
    for kept in ("#verdict", "#drawing", "#edge-table", "#figure-heatmap svg", "pre"):
        assert page.one(kept).is_displayed()


# Without a mouse


def test_tab_reaches_everything_in_order(open_report):
    page = open_report(exact(5))
    stops = []
    for _ in range(40):
        page.focused().send_keys(TAB)
        stop = page.focused()
        stops.append(stop.get_attribute("id") or stop.get_attribute("class") or stop.text)
        if stop.tag_name == "pre":
            break
    wanted = ["skip", "Graph", "threshold", "find", "node", "zoom-in", "filter", "Parent ↕"]
    places = [stops.index(name.removesuffix(" ↕")) for name in wanted]
    assert places == sorted(places)
    assert stop.tag_name == "pre"


def test_controls_and_figures_have_names(open_report, driver):
    page = open_report(sampled(6))
    tree = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = ("slider", "radio", "combobox", "button", "searchbox", "img", "image", "link")
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if not node.get("ignored") and node["role"]["value"] in named
    ]
    assert {"slider", "radio", "combobox", "button", "searchbox"} <= {role for role, _ in found}
    assert [role for role, name in found if not name] == []
    assert page.one("html").get_attribute("lang") == "en"
