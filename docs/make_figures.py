"""Make the figures of the README and the docs: ``python docs/make_figures.py``.

The picture of the report is taken by a headless Chromium with its driver, and left as it is where
there is none.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
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
    op.plots.graph(exact, cpdag=True).figure.savefig(IMAGES / "cpdag.png", dpi=110)
    op.plots.heatmap(exact).figure.savefig(IMAGES / "heatmap.png", dpi=110)
    draw_convergence(exact, sampled).savefig(IMAGES / "convergence.png", dpi=90)
    draw_effects(data, exact).savefig(IMAGES / "effects.png", dpi=110)
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
        ax.set_title(f"chain {chain}", loc="left", fontsize="small")
        ax.label_outer()
    op.plots.concordance(sampled, exact, names=("sampled", "exact"), ax=right.subplots())
    return figure


def draw_effects(data: op.Dataset, exact: op.Posterior) -> Figure:
    """The effect of rm on medv under the four models of the tutorial."""
    raw = op.BGe(standardize=False)
    tiers = [[name for name in data.names if name != "medv"], ["medv"]]
    posteriors = {
        "columns standardised, 3 parents": exact,
        "columns as they are, 3 parents": op.learn(data, raw, max_parents=3, seed=1),
        "standardised, medv last": op.learn(data, max_parents=3, tiers=tiers, seed=1),
        "the same, any number of parents": op.learn(data, tiers=tiers, seed=1),
    }
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    panels = figure.subplots(len(posteriors), 1, sharex=True)
    for ax, (label, posterior) in zip(panels, posteriors.items(), strict=True):
        effects = posterior.causal_effects()
        draws, path = effects.draws("rm", "medv"), effects.probability_nonzero.loc["rm", "medv"]
        ax.hist(draws, bins=np.arange(-0.875, 11.0, 0.25), color="#0072b2")
        ax.set_title(f"{label}: a path with probability {path:.2f}", loc="left", fontsize="small")
        ax.set_yticks([])
        ax.spines[["left", "right", "top"]].set_visible(False)
    panels[-1].set_xlabel("total effect of rm on medv, thousand dollars per room")
    return figure


def photograph(posterior: op.Posterior, data: op.Dataset) -> None:
    """The upper part of the report, with a variable chosen."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,1420"):
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
