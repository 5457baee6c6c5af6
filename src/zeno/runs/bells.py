"""Bells: what has a run look around at once, when something was put into its inbox. Whoever does not hear looks once a second.

Knows the runs that are driven here, and not what lies in their inboxes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from zeno.runs.pulse import Pulse

Answer = Callable[[str], None]
"""Called with the id of a session in which there is something to be done. May neither block nor raise."""


class Bells(Protocol):
    """Bells that are heard wherever runs are driven. None waits for anybody; what is not heard is lost."""

    async def ring(self, run_id: str) -> None:
        """Have a run look around, wherever it is driven."""
        ...

    async def ring_session(self, session_id: str) -> None:
        """Say to all who answer that there is something to be done in a session."""
        ...


@dataclass(kw_only=True)
class LocalBells:
    """The bells of a process that drives what it rings for."""

    pulse: Pulse
    _answers: list[Answer] = field(default_factory=list)

    async def ring(self, run_id: str) -> None:
        """Have a run that is driven here look around."""
        self.pulse.ring(run_id)

    async def ring_session(self, session_id: str) -> None:
        """Say to all who answer here that there is something to be done in a session."""
        for answer in self._answers:
            answer(session_id)

    @contextmanager
    def answering(self, answer: Answer) -> Iterator[None]:
        """Have `answer` called when it rings for a session, for the length of the block."""
        self._answers.append(answer)
        try:
            yield
        finally:
            self._answers.remove(answer)
