"""Run one benchmark by name, or list them."""

import sys
from importlib import import_module
from pathlib import Path

HELPERS = ("__init__", "__main__", "launch", "measuring", "pages", "problems")


def main() -> int:
    """Run the benchmark named on the command line."""
    folder = Path(__file__).parent
    names = sorted(
        [path.stem for path in folder.glob("*.py") if path.stem not in HELPERS]
        + [path.parent.name for path in folder.glob("*/__init__.py")]
    )
    if len(sys.argv) < 2:
        print("benchmarks:", ", ".join(names))
        return 0
    if sys.argv[1] not in names:
        print(f"no benchmark {sys.argv[1]!r}; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])
    return 0


sys.exit(main())
