"""Joblib's backend for dask, but for tasks that kill every worker that is given them.

Joblib 1.6 waits for such a task for ever: dask gives up on it after a few workers, and joblib's
callback, which is told of results alone, never hears of that.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from joblib._dask import DaskDistributedBackend

from evalstop.errors import UserError


class ClusterBackend(DaskDistributedBackend):  # type: ignore[misc] # joblib has no types
    """The backend, with lost tasks told like any other result."""

    def submit(
        self, func: Callable[..., Any], callback: Callable[[Any], None] | None = None
    ) -> "Future[Any]":
        """Have a batch of tasks done."""
        future: Future[Any] = super().submit(func, callback)

        def tell_loss(done: "Future[Any]") -> None:
            error = done.exception()
            if error is not None and callback is not None:
                callback(error)

        future.add_done_callback(tell_loss)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:  # noqa: ANN401 - what tasks give
        """Give the results of a batch, or raise what became of it."""
        if isinstance(out, BaseException):
            raise UserError(
                f"several dask workers were lost with one task (out of memory?), {out}; finished "
                "cells are saved, run the same command again to go on"
            ) from out
        return super().retrieve_result_callback(out)
