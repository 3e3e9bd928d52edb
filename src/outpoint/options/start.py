"""Where chains start, as an option."""

from dataclasses import dataclass
from typing import Any

from outpoint.errors import require
from outpoint.kinds import Kind

STARTS = ("empty", "order", "search")


@dataclass(frozen=True)
class Start(Kind):
    """Where chains start."""

    words: str = "'empty', 'order', 'search' or a Dag"
    metavar: str = "WORD|FILE"

    def read(self, value: Any) -> Any:
        """A word or a DAG."""
        from outpoint.graphs import Dag

        is_word = isinstance(value, str) and value in STARTS
        require(is_word or isinstance(value, Dag), self.words)
        return value

    def as_json(self, value: Any) -> Any:
        """A DAG by its names and edges."""
        if isinstance(value, str):
            return value
        return {"names": list(value.names), "edges": [list(edge) for edge in value.edges]}

    def from_json(self, value: Any) -> Any:
        """The DAG of these names and edges."""
        from outpoint.graphs import Dag

        if isinstance(value, str):
            return value
        return Dag.from_edges(value["names"], [tuple(edge) for edge in value["edges"]])

    def as_python(self, value: Any) -> str:
        """A call that makes the DAG."""
        if isinstance(value, str):
            return repr(value)
        edges = [tuple(edge) for edge in value["edges"]]
        return f"op.Dag.from_edges({value['names']!r}, {edges!r})"
