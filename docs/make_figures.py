"""Make the figures of the README and the docs: ``python docs/make_figures.py``.

The picture of the report is taken by a headless Chromium with its driver, and left as it is where
there is none.
"""

import shutil
import tempfile
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

import outpoint as op

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    data = op.datasets.boston()
    exact = op.learn(data, max_parents=3, seed=1)
    sampled = op.learn(data, max_parents=3, method="mcmc", seed=1)
    IMAGES.mkdir(exist_ok=True)
    op.plots.graph(exact).figure.savefig(IMAGES / "graph.png", dpi=110)
    draw_convergence(exact, sampled).savefig(IMAGES / "convergence.png", dpi=90)
    if shutil.which("chromedriver"):
        photograph(exact, data)
    for path in sorted(IMAGES.glob("*.png")):
        with Image.open(path) as image:
            image.convert("RGB").quantize(128).save(path, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def draw_convergence(exact: op.Posterior, sampled: op.Posterior) -> Figure:
    """The traces of the chains, and sampled against exact edge probabilities."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.6, 1))
    panels = left.subplots(2, 2, sharex=True, sharey=True)
    for chain, ax in enumerate(panels.ravel()):
        op.plots.traces(sampled, chain=chain, ax=ax).get_legend().remove()
        ax.set_title(f"chain {chain + 1}", loc="left", fontsize="small")
        ax.label_outer()
    op.plots.concordance(sampled, exact, names=("sampled", "exact"), ax=right.subplots())
    return figure


def photograph(posterior: op.Posterior, data: op.Dataset) -> None:
    """The upper part of the report, with a variable chosen."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,1640"):
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    with tempfile.TemporaryDirectory() as directory:
        page = posterior.report(Path(directory) / "report.html", data=data)
        browser = webdriver.Chrome(options=options, service=service)
        browser.get(page.as_uri())
        script = "const f = document.querySelector('#find'); f.value = arguments[0];"
        node = posterior.names.index("medv")
        browser.execute_script(script + "f.dispatchEvent(new Event('change'))", str(node))
        browser.save_screenshot(IMAGES / "report.png")
        browser.quit()


if __name__ == "__main__":
    main()
