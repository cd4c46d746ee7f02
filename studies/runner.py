"""Compute the cells that have no result yet, on any number of workers, and keep every result.

Only the parent writes: workers may be processes of this machine or, inside
``joblib.parallel_config``, of others. Cells of one stream travel together, so that what they share
is made once.
"""

import math
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from itertools import islice

from evalstop.errors import UserError
from evalstop.studies.cell import Cell, compute
from evalstop.studies.store import Numbers, Store

# Tasks per worker that are aimed at, so that the last ones end at about the same time.
TASKS_PER_WORKER = 8


def run(
    cells: Iterable[Cell],
    store: Store,
    *,
    jobs: int = 1,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> list[Numbers]:
    """Give the numbers of every cell, computed now or before.

    Parameters
    ----------
    cells : iterable of Cell
        Equal cells are computed once.
    store : Store
        Results that are there are used; new ones are saved as they come.
    jobs : int
        Worker processes, at least 1; with 1 the work is done in this process.
    advance : callable
        Told how many different cells are done, of how many.

    Returns
    -------
    list of dict
        In the order of `cells`: it does not depend on `jobs`.

    Raises
    ------
    UserError
        If a cell cannot be computed, or a worker was killed; results so far are saved.
    """
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    if jobs < 1:
        raise UserError(f"jobs: must be at least 1, got {jobs}")
    cells = list(cells)
    wanted = {cell.id: cell for cell in cells}
    found = {i: numbers for i, cell in wanted.items() if (numbers := store.load(cell)) is not None}
    pending = [cell for i, cell in wanted.items() if i not in found]
    advance(len(found), len(wanted))
    tasks = _tasks(pending, jobs)
    parallel = Parallel(
        n_jobs=min(jobs, max(len(tasks), 1)),
        return_as="generator_unordered",
        initializer=_follow,
        initargs=(os.getpid(),),
    )
    work = parallel(delayed(_task)(task) for task in tasks)
    try:
        for results in work:
            for i, numbers in results:
                store.save(wanted[i], numbers)
                found[i] = numbers
            advance(len(found), len(wanted))
    except TerminatedWorkerError:
        raise UserError(
            "a worker was killed (out of memory?): finished cells are saved, run the same command "
            "again to go on, with fewer --jobs if memory is short"
        ) from None
    finally:
        with warnings.catch_warnings():  # that cancelled tasks are lost is no news
            warnings.simplefilter("ignore", UserWarning)
            work.close()
    return [found[cell.id] for cell in cells]


def _tasks(pending: list[Cell], jobs: int) -> list[list[Cell]]:
    """Put cells of one stream together, but never so many that workers would be idle."""
    streams: dict[str, list[Cell]] = {}
    for cell in pending:
        streams.setdefault(cell.stream, []).append(cell)
    size = max(1, math.ceil(len(pending) / (TASKS_PER_WORKER * jobs)))
    tasks = []
    for stream in streams.values():
        rest = iter(stream)
        while task := list(islice(rest, size)):
            tasks.append(task)
    return tasks


def _task(cells: list[Cell]) -> list[tuple[str, Numbers]]:
    """Compute a task; linear algebra has one thread, whether in a worker or in the parent."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        numbers = compute(cells)
    return [(cell.id, n) for cell, n in zip(cells, numbers, strict=True)]


def _follow(parent: int) -> None:
    """Let a worker process leave Ctrl-C to its parent, and end soon after it.

    On its own it would stay for minutes when the parent was killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
