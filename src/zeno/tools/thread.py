"""Blocking work in a thread of its own. Knows nothing of what the work is.

The pool of asyncio has too few threads for work that mostly waits; and a program that ends would wait for a pool's threads,
while a daemon's are left behind.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def in_thread(work: Callable[[], Result], name: str) -> "asyncio.Future[Result]":
    """What `work` returns or raises, from a daemon thread. Cancelling the future does not stop the thread."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - handed on to whoever waits
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    threading.Thread(target=run, name=f"zeno-{name}", daemon=True).start()
    return asyncio.wrap_future(future)
