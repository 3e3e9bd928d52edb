"""Run one benchmark by name, or list them."""

import sys
from importlib import import_module
from pathlib import Path


def main() -> int:
    """Run the benchmark named on the command line."""
    names = sorted(
        path.stem
        for path in Path(__file__).parent.glob("*.py")
        if not path.stem.startswith("_") and path.stem != "problems"
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
