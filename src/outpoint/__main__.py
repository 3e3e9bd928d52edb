"""``outpoint`` and ``python -m outpoint`` are the command line, from the first moment on."""

from outpoint.signals import end_at_once, ignore


def main() -> None:
    """Run the command line; what it needs is imported first, which takes a while."""
    end_at_once()
    from outpoint.cli import main as run

    try:
        run()
    finally:
        ignore()
        # Python remembers a Ctrl-C that left evaluated text, such as the making of a dataclass, and
        # in the end kills itself by SIGINT, whatever became of the exception; now it forgets.
        eval("None")


if __name__ == "__main__":
    main()
