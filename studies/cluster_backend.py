"""Joblib's backend for dask, with two things put right (joblib 1.6).

It waits for ever for a task that kills every worker it is given to: dask gives up on it after a
few, and joblib's callback, which is told of results alone, never hears of that. And it does the
work of a cluster with a single worker in the process that asks for it.
"""

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, NamedTuple

from distributed import KilledWorker
from joblib._dask import DaskDistributedBackend

from evalstop.errors import UserError


class Lost(NamedTuple):
    """What became of tasks that never came back, as told by dask; errors in tasks do come back."""

    error: BaseException


class ClusterBackend(DaskDistributedBackend):  # type: ignore[misc] # joblib has no types
    """The backend."""

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Give how many tasks may be out; with one, joblib would keep it to itself."""
        n_threads: int = super().effective_n_jobs(n_jobs)
        return max(2, n_threads)

    def submit(
        self, func: Callable[..., Any], callback: Callable[[Any], None] | None = None
    ) -> "Future[Any]":
        """Have a batch of tasks done."""
        future: Future[Any] = super().submit(func, callback)

        def tell_loss(done: "Future[Any]") -> None:
            error = done.exception()
            if error is not None and callback is not None:
                callback(Lost(error))

        future.add_done_callback(tell_loss)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:  # noqa: ANN401 - what tasks give
        """Give the results of a batch, or raise what became of it."""
        error = out.error if isinstance(out, Lost) else out
        if isinstance(out, Lost) or isinstance(error, CancelledError):
            what = "the dask scheduler was lost"
            if isinstance(error, KilledWorker):
                what = "several dask workers were lost with one task (out of memory?)"
            raise UserError(
                f"{what}: finished cells are saved, run the same command again to go on"
            ) from error
        return super().retrieve_result_callback(out)
