"""``python -m outpoint`` is the command line."""

from outpoint.cli import main

main()
