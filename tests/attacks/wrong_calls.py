"""Every public function and method, to be called with a hostile value for one of its arguments.

What is called is found by listing: the names of the package, the methods of posteriors, graphs and
data sets. A call is answered cleanly if it has a result, or ends in an error of outpoint with one
sentence, and nothing is written.
"""

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

import outpoint as op
from outpoint.errors import LONGEST, OutpointError
from outpoint.options import OPTIONS
from tests.attacks.hostile_values import HOSTILE, OwnError

NAMES = list("abc")
DAG = op.Dag.from_edges(NAMES, [("a", "b")])
LAGGED = op.Dag.from_edges(["a", "a[-1]"], [("a[-1]", "a")])
FRAME = pd.DataFrame(np.random.default_rng(3).normal(size=(25, 3)), columns=NAMES)
LETTERS = pd.DataFrame(np.random.default_rng(4).choice(["x", "y"], (30, 3)), columns=NAMES)
SHORT = {"steps": 400, "chains": 2, "draws": 20, "seed": 1}

GOOD: dict[str, Any] = {
    "adjacency": DAG.adjacency,
    "by": "equivalence_classes",
    "cause": "a",
    "child": "b",
    "column": "a",
    "columns": ["a", "b"],
    "dag": DAG,
    "data": FRAME,
    "edges": [("a", "b")],
    "effect": "b",
    "estimate": DAG,
    "feature": "a -> b",
    "function": lambda child, parents: 0.0,
    "graph": DAG,
    "kind": "continuous",
    "layer_of": [0, 1],
    "layers": ((0,), (1,)),
    "n": 3,
    "n_draws": 3,
    "n_nodes": 3,
    "n_obs": 5,
    "n_rows": 4,
    "n_tables": 2,
    "n_times": 5,
    "names": NAMES,
    "node": "a",
    "nodes": (0, 1),
    "other": DAG,
    "parent": "a",
    "parents": [[], [0], []],
    "q": 0.5,
    "rows": np.arange(25) > 3,
    "steps": 2,
    "target": "a",
    "truth": DAG,
    "values": FRAME.to_numpy(),
    "X": FRAME,
}
"""Good values of arguments that have to be given, by their names."""

TEXTS: dict[str, dict[str, Any]] = {
    "dag.from_dagitty": {"text": DAG.to_dagitty()},
    "dag.from_dot": {"text": DAG.to_dot()},
    "dag.from_graphml": {"text": DAG.to_graphml()},
    "dag.from_model_string": {"text": DAG.to_model_string()},
    "dag.from_networkx": {"graph": DAG.to_networkx()},
}
"""What methods of graphs read, by the format."""

SUFFIX = {"report": ".html", "save": ".nc", "write_jkl": ".jkl", "write_dag": ".dot"}
WITH_OPTIONS = ("learn", "find_map", "load_dataset", "log_score")
OF_SERIES = ("rolled_up", "slices")
NOT_CALLED = ("MapResult", "Posterior", "datasets", "plots")
"""Public names that are made by others, and modules."""


@dataclass(frozen=True)
class Call:
    """One argument of a function, with good values of what else it needs."""

    name: str
    function: Callable[..., Any]
    argument: str
    good: dict[str, Any]

    def complaint(self, label: str) -> str:
        """What is wrong with the answer to a hostile value; nothing if it is clean."""
        before = set(os.listdir())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.function(**{**self.good, self.argument: HOSTILE[label]()})
            return ""
        except OutpointError as error:
            sentence = str(error)
        except OwnError:  # of a function that was given
            return ""
        except Exception as error:
            return f"{self}: {label} raised {type(error).__name__}"
        if "\n" in sentence or len(sentence) > LONGEST:
            return f"{self}: {label} got {sentence[:200]!r}"
        if set(os.listdir()) != before:
            return f"{self}: {label} was refused, and a file written"
        return ""

    def __repr__(self) -> str:
        return f"{self.name}({self.argument})"


def arguments_of(name: str, function: Callable[..., Any], **good: Any) -> Iterator[Call]:
    """A call for every argument; options of runs are tried elsewhere."""
    short = name.split(".")[-1]
    parameters = inspect.signature(function).parameters.values()
    named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    usual = {**GOOD, "path": f"file{SUFFIX.get(short, '.csv')}", **good}
    needed = {one.name: usual.get(one.name) for one in named if one.default is one.empty}
    for one in named:
        if short not in WITH_OPTIONS or one.name not in OPTIONS:
            yield Call(name, function, one.name, needed)


SLICES = op.load_series(FRAME[["a", "b"]])
HOLES = FRAME.mask(np.arange(75).reshape(25, 3) % 13 == 1)
KINDS: dict[str, Callable[[], op.Posterior]] = {
    "exact": lambda: op.learn(FRAME, method="exact", seed=1),
    "sampled": lambda: op.learn(FRAME, method="mcmc", **SHORT),
    "series": lambda: op.learn(SLICES, seed=1),
    "weighted": lambda: posterior("exact").reweighted(lambda dag: 0.0),
    "levels": lambda: op.learn(LETTERS, seed=1),
    "augmented": lambda: op.learn(HOLES, missing="augment", **SHORT),
}
"""What makes a posterior of each kind."""


@lru_cache
def posterior(kind: str) -> op.Posterior:
    """A posterior, learned once."""
    return KINDS[kind]()


def methods_of(label: str, value: Any, **good: Any) -> Iterator[Call]:
    """A call for every argument of every public method."""
    for name, _method in inspect.getmembers(type(value), callable):
        if not name.startswith("_"):
            yield from arguments_of(f"{label}.{name}", getattr(value, name), **good)


def posterior_calls(kinds: Iterable[str] = tuple(KINDS)) -> Iterator[Call]:
    """The methods of posteriors, and of what they return."""
    new = {"levels": LETTERS, "series": SLICES}
    for kind in kinds:
        dag = posterior(kind).map_dag
        good = {"new": new.get(kind, FRAME), "dag": dag, "other": dag, "truth": dag}
        yield from methods_of(kind, posterior(kind), **good)
    yield from methods_of("effects", posterior("exact").causal_effects(n_draws=20))
    yield from methods_of("effect", posterior("exact").effect("a", "b", n_draws=20))


def plot_calls() -> Iterator[Call]:
    """All plots, and the posteriors that they show."""
    good = {"posterior": posterior("sampled"), "first": posterior("sampled"), "runs": [1.0, 2.0]}
    for name, function in inspect.getmembers(op.plots, inspect.isfunction):
        if not name.startswith("_"):
            shown = "series" if name in OF_SERIES else "sampled"
            yield from arguments_of(
                f"plots.{name}", function, **good | {"posterior": posterior(shown)}
            )


def learner_calls() -> Iterator[Call]:
    """The methods of an estimator that is fitted."""
    learner = op.OutpointLearner(target="c", seed=1).fit(FRAME)
    yield from methods_of("learner", learner, X=FRAME)


def other_calls() -> Iterator[Call]:
    """The functions of the package, and the values it makes."""
    exact = posterior("exact")
    for name in op.__all__:
        public = getattr(op, name)
        if name in NOT_CALLED or (isinstance(public, type) and issubclass(public, Exception)):
            continue
        if name != "OutpointLearner":
            dag = LAGGED if name == "simulate_series" else DAG
            yield from arguments_of(name, public, first=exact, second=exact, dag=dag)
    for call in methods_of("dag", DAG, child="c"):
        yield replace(call, good=call.good | TEXTS.get(call.name, {}))
    yield from methods_of("cpdag", DAG.cpdag(), other=DAG.cpdag())
    yield from methods_of("partition", DAG.partition())
    yield from methods_of("data", op.load_dataset(FRAME))
    yield from plot_calls()
    yield from learner_calls()
    yield from arguments_of("Knowledge.read", op.Knowledge.read)
    yield from arguments_of("Knowledge.write", op.Knowledge(roots=["a"]).write)
