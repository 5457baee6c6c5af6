"""A limit for each of many short waits, cheap enough for one wait per token: a timer that looks now and then, not one each."""

import asyncio
from collections.abc import Callable


class Patience:
    """Watches waits. When one lasts too long, `expired` is set and `give_up` called, which has to end the wait."""

    def __init__(self, give_up: Callable[[], object]) -> None:
        self.expired = False
        self._give_up = give_up
        self._loop = asyncio.get_running_loop()
        self._until: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def wait(self, seconds: float) -> None:
        """A wait begins that may last `seconds`."""
        self._until = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._until:
            self._look_at(self._until)

    def rest(self) -> None:
        """The wait is over. What comes until the next one takes as long as it takes."""
        self._until = None

    def end(self) -> None:
        """No more waits."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_at(self, moment: float) -> None:
        self.end()
        self._timer = self._loop.call_at(moment, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._until is None:
            return
        if self._loop.time() < self._until:
            self._look_at(self._until)
        else:
            self.expired = True
            self._give_up()
