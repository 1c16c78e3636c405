"""Progress for a person at a terminal; silence everywhere else."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from harness.watch import Watch


@contextmanager
def watching(*, quiet: bool) -> Iterator[Watch]:
    """Yield a watch that draws a bar on stderr, or one that says nothing."""
    if quiet or not sys.stderr.isatty():
        yield Watch()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    lock = threading.Lock()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("starting", total=None)

        def stage(name: str, total: int | None) -> None:
            with lock:
                bar.reset(task, description=name, total=total)

        def step(name: str) -> None:
            with lock:
                bar.update(task, advance=1, description=name)

        yield Watch(
            stage=stage, step=step, say=lambda words: bar.console.print(words, markup=False)
        )
