"""Plots: the right numbers are in the axes, for every kind of posterior and any names."""

import io
import itertools
import re
import subprocess
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon

import outpoint as op
from outpoint.posterior import ExactPosterior
from outpoint.report.payload import count_features
from outpoint.report.plots.best_scores import smooth
from outpoint.report.plots.chains import autocorrelate
from tests.grids import covering, first
from tests.report.posteriors import HOSTILE, exact, fabricated, sampled

KINDS = {
    "exact": lambda: exact(5),
    "sampled": lambda: sampled(5),
    "single chain": lambda: sampled(5, chains=1),
    "two nodes": lambda: exact(2),
    "two hundred nodes": lambda: fabricated(200),
    "thirty nodes": lambda: sampled(30, chains=2),
}
SINGLE = [
    op.plots.traces,
    op.plots.heatmap,
    op.plots.graph,
    op.plots.autocorrelation,
    op.plots.running_edges,
]


def lines_of(ax, label):
    return [line for line in ax.get_lines() if line.get_label() == label]


def as_svg(ax):
    with io.StringIO() as file:
        ax.figure.savefig(file, format="svg")
        return file.getvalue()


def connections_of(ax):
    patches = [patch for patch in ax.patches if isinstance(patch, PathPatch)]
    return {tuple(map(int, patch.get_gid().split("-"))): patch for patch in patches}


@pytest.mark.parametrize(
    ("plot", "kind"),
    [*covering(SINGLE, list(KINDS)[:-1]), *first(product(SINGLE, [list(KINDS)[-1]]), 0)],
)
def test_every_plot_draws_every_posterior(plot, kind):
    ax = plot(KINDS[kind]())
    assert len(as_svg(ax)) > 1000
    assert ax.has_data() or ax.texts


@pytest.mark.parametrize("plot", SINGLE, ids=lambda plot: plot.__name__)
def test_given_axes_are_used_and_pyplot_is_left_alone(plot):
    import matplotlib.pyplot as plt

    ax = Figure().add_subplot()
    assert plot(KINDS["exact"](), ax=ax) is ax
    assert plot(KINDS["exact"]()) is not ax
    assert plt.get_fignums() == []


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
@pytest.mark.parametrize("plot", first(SINGLE, 3), ids=lambda plot: plot.__name__)
def test_names_are_no_formulas(plot):
    as_svg(plot(sampled(len(HOSTILE), names=HOSTILE)))  # one that cannot be parsed would raise


@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_a_formula_would_be_noticed():
    ax = op.plots.heatmap(sampled(len(HOSTILE), names=HOSTILE))
    shown = [label.get_text() for label in ax.get_xticklabels()]
    assert "$\\frac$" in shown
    ax.get_xticklabels()[shown.index("$\\frac$")].set_parse_math(True)
    with pytest.raises(ValueError, match="frac"):
        as_svg(ax)


def test_importing_plots_does_not_import_matplotlib():
    code = "import sys, outpoint; outpoint.plots.graph; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Traces


@pytest.mark.parametrize("kind", ["exact", "sampled", "single chain"])
def test_traces_are_the_log_scores(kind):
    posterior = KINDS[kind]()
    ax = op.plots.traces(posterior, reference=-123.0)
    scores = posterior.log_scores.to_numpy()
    for chain, expected in enumerate(scores):
        (line,) = lines_of(ax, f"chain {chain}")
        np.testing.assert_array_equal(line.get_ydata(), expected)
    assert not lines_of(ax, f"chain {len(scores)}")
    (best,), (reference,) = lines_of(ax, "best DAG"), lines_of(ax, "reference")
    assert set(best.get_ydata()) == {posterior.map_log_score}
    assert set(reference.get_ydata()) == {-123.0}
    assert not lines_of(op.plots.traces(posterior), "reference")


def test_one_chain_of_several():
    ax = op.plots.traces(KINDS["sampled"](), chain=1)
    assert lines_of(ax, "chain 1")
    assert not lines_of(ax, "chain 0")
    with pytest.raises(op.OptionError, match="from 0 to 2"):
        op.plots.traces(KINDS["sampled"](), chain=3)


# Heat map


def test_heat_map_shows_the_probabilities():
    posterior = KINDS["exact"]()
    ax = op.plots.heatmap(posterior, order="data")
    np.testing.assert_allclose(ax.images[0].get_array(), posterior.edge_probabilities)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(posterior.names)
    ax = op.plots.heatmap(posterior, of="ancestors", order="data")
    np.testing.assert_allclose(ax.images[0].get_array(), posterior.ancestor_probabilities)
    with pytest.raises(op.OptionError, match="of must be one of edges, ancestors, not 'paths'"):
        op.plots.heatmap(posterior, of="paths")


def test_heat_map_sorted_by_causes():
    posterior = KINDS["exact"]()
    ax = op.plots.heatmap(posterior)
    names = [label.get_text() for label in ax.get_yticklabels()]
    cells = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(cells, posterior.edge_probabilities.loc[names, names])
    assert np.triu(cells).sum() > np.tril(cells).sum()


def test_heat_map_of_many_nodes_has_no_unreadable_labels():
    assert len(op.plots.heatmap(fabricated(60)).get_xticklabels()) == 60
    ax = op.plots.heatmap(KINDS["two hundred nodes"]())
    assert not ax.get_xticklabels()
    assert "200 variables" in ax.get_xlabel()


# Graph


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.95])
def test_graph_shows_connections_above_the_threshold(threshold):
    posterior = fabricated(12)
    ax = op.plots.graph(posterior, threshold=threshold)
    edges = posterior.edge_probabilities.to_numpy()
    wanted = np.argwhere(np.triu(edges + edges.T) >= threshold).tolist()
    drawn = connections_of(ax)
    assert {tuple(sorted(pair)) for pair in drawn} == {tuple(pair) for pair in wanted}
    assert len(drawn) > 0
    for (a, b), patch in drawn.items():
        assert patch.get_linewidth() == pytest.approx(0.6 + 2.2 * (edges[a, b] + edges[b, a]))
    assert sum(isinstance(patch, FancyBboxPatch) for patch in ax.patches) == 12


def test_arrows_point_the_more_probable_way():
    """Every arrow's tip lies at the box of the child."""
    posterior = fabricated(8)
    ax = op.plots.graph(posterior, threshold=0.2)
    edges = posterior.edge_probabilities.to_numpy()
    centres = [text.get_position() for text in ax.texts]
    tips = {tuple(patch.get_xy()[0]) for patch in ax.patches if isinstance(patch, Polygon)}
    drawn = connections_of(ax)
    assert len(tips) == len(drawn)
    for upper, lower in drawn:
        child = lower if edges[upper, lower] >= edges[lower, upper] else upper
        x, y = centres[child]
        assert any(abs(tx - x) < 60 and abs(ty - y) < 16 for tx, ty in tips)


def test_cpdag_view_has_arrows_only_where_compelled():
    posterior = fabricated(8)
    features = count_features(posterior)
    forward = features.compelled + features.reversible / 2
    with np.errstate(invalid="ignore"):
        share = forward / (forward + forward.T)
    ax = op.plots.graph(posterior, threshold=0.2, cpdag=True)
    drawn = connections_of(ax)
    known = sum(max(share[a, b], share[b, a]) >= 0.75 for a, b in drawn)
    assert sum(isinstance(patch, Polygon) for patch in ax.patches) == known
    assert 0 < known < len(drawn)


def test_rounding_may_make_a_connection_more_than_certain():
    posterior = exact()
    edges = np.zeros((5, 5))
    edges[0, 1] = edges[1, 0] = 0.5 + 4e-16
    solution = replace(posterior.solution, edges=edges)
    axes = op.plots.graph(ExactPosterior(posterior.info, solution))
    assert [patch.get_alpha() for patch in axes.patches if patch.get_gid() == "0-1"] == [1.0]


def test_graph_refuses_a_threshold_that_is_no_probability():
    with pytest.raises(op.OptionError, match="from 0 to 1"):
        op.plots.graph(KINDS["exact"](), threshold=1.5)


# Concordance


def test_two_runs_against_each_other():
    first = exact(5)
    names = first.names[::-1]
    second = op.learn(
        op.Dataset(names, np.random.default_rng(5).normal(size=(30, 5))), method="exact"
    )
    points = op.plots.concordance(first, second).collections[-1].get_offsets()
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(points[:, 0], first.edge_probabilities.to_numpy()[off])
    matched = second.edge_probabilities.loc[list(first.names), list(first.names)].to_numpy()
    np.testing.assert_allclose(points[:, 1], matched[off])


def test_each_chain_against_the_others():
    posterior = sampled(5)
    ax = op.plots.concordance(posterior)
    off = ~np.eye(5, dtype=bool)
    edges = posterior.chain_edges
    drawn = [one for one in ax.collections if str(one.get_label()).startswith("chain")]
    assert len(drawn) == 3
    for chain, points in enumerate(drawn):
        others = np.delete(edges, chain, axis=0).mean(axis=0)
        np.testing.assert_allclose(points.get_offsets()[:, 0], others[off])
        np.testing.assert_allclose(points.get_offsets()[:, 1], edges[chain][off])


@pytest.mark.parametrize("kind", ["exact", "single chain"])
def test_concordance_needs_two_of_something(kind):
    with pytest.raises(op.OptionError, match="several chains"):
        op.plots.concordance(KINDS[kind]())
    with pytest.raises(op.OptionError, match="different variables"):
        op.plots.concordance(KINDS[kind](), KINDS["two nodes"]())


# Best scores


def test_densities_of_best_scores():
    groups = {"first": [-10.0, -12.0, -11.0], "$second": [-10.0] * 5}
    ax = op.plots.best_scores(groups)
    for name, scores in groups.items():
        (line,) = lines_of(ax, f"{name} ({len(scores)})")
        x, density = line.get_data()
        assert np.trapezoid(density, x) == pytest.approx(1.0, abs=1e-3)
        assert np.trapezoid(density * x, x) == pytest.approx(np.mean(scores) + 10.0, abs=1e-2)
    as_svg(ax)


def test_density_is_a_mean_of_gaussians():
    x, values = np.linspace(-3, 3, 7), np.array([0.0, 1.0, 1.5])
    plain = [
        sum(np.exp(-((t - v) ** 2) / (2 * 0.25)) / np.sqrt(2 * np.pi * 0.25) for v in values) / 3
        for t in x
    ]
    np.testing.assert_allclose(smooth(x, values, 0.5), plain)


def test_best_scores_of_posteriors():
    posteriors = [exact(4, seed=1), exact(4, seed=2)]
    ax = op.plots.best_scores(posteriors, reference=0.0, bandwidth=1.0)
    ticks = ax.get_lines()[1].get_xdata()
    np.testing.assert_allclose(ticks, [posterior.map_log_score for posterior in posteriors])
    with pytest.raises(op.OptionError, match="a list of posteriors or finite log scores"):
        op.plots.best_scores({"none": []})
    with pytest.raises(op.OptionError, match=r"a number of log units from 0\.001"):
        op.plots.best_scores([1.0, 2.0], bandwidth=0.0)


def test_best_scores_that_are_far_apart():
    """Narrow kernels of many runs would need more points than there is memory for."""
    ax = op.plots.best_scores(range(5000), bandwidth=0.001)
    assert len(ax.get_lines()[0].get_xdata()) == 4000
    for hostile in (itertools.count(), range(10**12), [1.0, float("nan")], [float("inf")]):
        with pytest.raises(op.OptionError, match="runs must be a list of posteriors or finite"):
            op.plots.best_scores(hostile)


# Autocorrelation


def test_autocorrelation_against_its_definition():
    values = np.random.default_rng(1).normal(size=50).cumsum()
    centred = values - values.mean()
    plain = [
        np.dot(centred[: 50 - lag], centred[lag:]) / np.dot(centred, centred) for lag in range(50)
    ]
    np.testing.assert_allclose(autocorrelate(values), plain, atol=1e-12)
    np.testing.assert_array_equal(autocorrelate(np.full(4, 3.0)), np.ones(4))


def test_autocorrelation_of_every_chain():
    posterior = sampled(5)
    ax = op.plots.autocorrelation(posterior, max_lag=20)
    for chain, scores in enumerate(posterior.log_scores.to_numpy()):
        (line,) = lines_of(ax, f"chain {chain}")
        np.testing.assert_allclose(line.get_ydata(), autocorrelate(scores)[:21])
    with pytest.raises(op.OptionError, match="max_lag"):
        op.plots.autocorrelation(posterior, max_lag=0)


# Running probabilities


def test_running_edge_probabilities():
    posterior = sampled(5)
    names = posterior.names
    ax = op.plots.running_edges(posterior, [(names[0], names[1])])
    present = posterior.dags().to_numpy()[:, :, 0, 1]
    lines = [line for line in ax.get_lines() if len(line.get_xdata()) == present.shape[1]]
    assert len(lines) == 3
    for line, values in zip(lines, present, strict=True):
        expected = [values[: i + 1].mean() for i in range(len(values))]
        np.testing.assert_allclose(line.get_ydata(), expected)


def test_the_most_uncertain_edges_are_chosen():
    posterior = fabricated(8)
    ax = op.plots.running_edges(posterior, n_edges=3)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(shown) == 3
    edges = posterior.edge_probabilities
    distance = np.abs(np.maximum(edges.to_numpy(), edges.to_numpy().T)[np.triu_indices(8, 1)] - 0.5)
    found = [abs(edges.loc[tuple(re.split(" → ", text))] - 0.5) for text in shown]
    np.testing.assert_allclose(found, np.sort(distance)[:3])


def test_running_edges_refuses_unknown_names():
    with pytest.raises(op.OptionError, match="'z'"):
        op.plots.running_edges(sampled(5), [("z", "y")])
    with pytest.raises(op.OptionError, match="at least one"):
        op.plots.running_edges(sampled(5), [])
    with pytest.raises(op.OptionError, match="n_edges"):
        op.plots.running_edges(sampled(5), n_edges=0)
