"""Reproducers: for each finding a directory that shows it again without tokparity.

``value`` is a reproducer, ``layout``, ``script`` and ``page`` say purely where its files lie, what
``run.sh`` is and what a person reads; ``included`` asks a compiler, ``gather`` puts a reproducer
together and ``write`` is the only one that writes.
"""

from harness.repro.write import claimed, write_reproducers

__all__ = ["claimed", "write_reproducers"]
