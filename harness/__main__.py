"""``python -m harness`` is ``tokparity``."""

from harness.cli import main

main()
