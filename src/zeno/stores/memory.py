"""The effect ledger of runs that are not kept: what `effects` does with a table, in a dictionary."""

from zeno.core.messages import ToolResult
from zeno.core.ports import Effecting, EffectState, LedgerEntry

STATES: dict[str, EffectState] = {"done": "done", "failed": "failed", "rejected": "rejected", "cancelled": "rejected"}
FREE = ("failed", "rejected")
"""States in which the effect certainly did not happen."""


class MemoryEffects:
    """A ledger of runs that are not kept."""

    def __init__(self) -> None:
        self._entries: dict[str, LedgerEntry] = {}

    async def reserve(self, effect: Effecting, *, again: bool = False) -> LedgerEntry | None:
        """Announce an effect: `None` when it may go on now, else what is known of it."""
        known = self._entries.get(effect.key)
        if known is not None and known.state not in FREE and not (again and known.state != "done"):
            return known
        self._entries[effect.key] = LedgerEntry(effect.key, effect.run_id, effect.call_id, "reserved")
        return None

    async def settle(self, effect: Effecting, result: ToolResult) -> None:
        """Write down what became of an effect."""
        known = self._entries.get(effect.key)
        if known is None or known.state != "done":
            state = STATES.get(result.outcome, "unknown")
            entry = LedgerEntry(effect.key, effect.run_id, effect.call_id, state, result.text, result.files)
            self._entries[effect.key] = entry
