"""The effect ledger: RESERVED before a tool may begin, then DONE, FAILED, REJECTED or UNKNOWN.

Nothing is taken out of it but with the whole conversation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from zeno.core.errors import RunLost
from zeno.core.messages import ToolResult
from zeno.core.ports import Effecting, LedgerEntry
from zeno.stores.database import Database, reading, writing
from zeno.stores.leases import Lease
from zeno.stores.memory import FREE, STATES
from zeno.stores.tables import effects, runs


@dataclass(frozen=True, kw_only=True)
class Effects:
    """The ledger of all runs, as the driver with this lease writes it. `now` gives milliseconds since 1970-01-01 UTC."""

    database: Database
    now: Callable[[], int]
    lease: Lease

    async def reserve(self, effect: Effecting, *, again: bool = False) -> LedgerEntry | None:
        """Announce an effect: `None` when it may go on now, else what is known of it.

        Raises `RunLost` when the lease has passed to another driver: then it is for that one to say.
        """
        try:
            return await self._reserve(effect, again)
        except IntegrityError:
            # Another instance was quicker by a moment.
            return await self._known(effect.key)

    @writing
    def _reserve(self, connection: Connection, effect: Effecting, again: bool) -> LedgerEntry | None:
        if not self._held(connection):
            raise RunLost("run_lost", run=self.lease.run_id)
        free = (*FREE, "unknown", "reserved") if again else FREE
        fresh = {"run_id": effect.run_id, "call_id": effect.call_id, "state": "reserved", "at": self.now(), "result": None}
        retaking = update(effects).where(effects.c.key == effect.key, effects.c.state.in_(free))
        if connection.execute(retaking.values(fresh)).rowcount:
            return None
        row = connection.execute(select(effects).where(effects.c.key == effect.key)).first()
        if row is not None:
            return _entry(row)
        values = fresh | {"key": effect.key, "tool": effect.tool, "digest": effect.digest}
        connection.execute(insert(effects).values(values))
        return None

    @reading
    def _known(self, connection: Connection, key: str) -> LedgerEntry:
        return _entry(connection.execute(select(effects).where(effects.c.key == key)).one())

    @writing
    def settle(self, connection: Connection, effect: Effecting, result: ToolResult) -> None:
        """Write down what became of an effect, or that one was refused."""
        state = STATES.get(result.outcome, "unknown")
        # What was done was done, whoever did it; anything else is not known any more to whom the run was taken from.
        if state != "done" and not self._held(connection):
            return
        body = msgspec.json.encode(result).decode()
        values = {"state": state, "result": body, "settled_at": self.now()}
        # What is done stays done, whatever a late comer says.
        settling = update(effects).where(effects.c.key == effect.key, effects.c.state != "done")
        if (connection.execute(settling.values(values))).rowcount:
            return
        known = select(effects.c.key).where(effects.c.key == effect.key)
        # Of a conversation that was deleted meanwhile nothing comes back.
        if connection.scalar(known) is None and self._epoch(connection) is not None:
            own = {"key": effect.key, "run_id": effect.run_id, "call_id": effect.call_id, "at": values["settled_at"]}
            connection.execute(insert(effects).values(values | own | {"tool": effect.tool, "digest": effect.digest}))

    def _held(self, connection: Connection) -> bool:
        """Whether the lease still holds. Nobody takes it before this transaction ends."""
        return self._epoch(connection) == self.lease.epoch

    def _epoch(self, connection: Connection) -> int | None:
        """How many drivers the run has had; `None` when it was deleted. It stays so until this transaction ends."""
        epoch = select(runs.c.epoch).where(runs.c.id == self.lease.run_id).with_for_update(read=True)
        number: int | None = connection.scalar(epoch)
        return number


def _entry(row: Row[Any]) -> LedgerEntry:
    result = msgspec.json.decode(row.result, type=ToolResult) if row.result else None
    text, files = (result.text, result.files) if result else ("", ())
    return LedgerEntry(row.key, row.run_id, row.call_id, row.state, text, files)
