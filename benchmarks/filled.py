"""A database full of finished runs: one errand that a house really did, written again and again under other names.

Each copy has all rows that the run left in every table. Knows tables, and nothing of what is measured.
"""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, insert, select
from tests.door import Door, call, calls

from zeno.settings import Settings
from zeno.stores.tables import approvals, audit, effects, events, inbox, runs, sessions

TASK = "I am in Hangzhou from the first to the third of April. What do I take along? Send the list to me@example.com as well."
THINKING = "They want to know what to take along, so I look the weather up for the days in question before I answer. "
ANSWER = "Take a raincoat: the days begin cool, with about 7 degrees, and it rains lightly from four o'clock on. "
TOOLS = '''
@tool()
async def look_up(city: str, day: str) -> str:
    """Look up the weather of a city. Use it for questions about the weather.

    Args:
        city: its name
        day: as 2026-01-31
    """
    return f"{city}, {day}: 7 degrees in the morning, 15 at noon, light rain from four o'clock on, wind from the west, 12 km/h."

@tool(effect="danger")
async def send(to: str, text: str) -> str:
    """Send a letter. Use it when somebody is to be told something.

    Args:
        to: the address
        text: what it says
    """
    return f"Sent to {to}: {len(text)} characters."
'''
REPLIES = (
    calls(call("look_up", city="Hangzhou", day="2026-04-01"), thinking=THINKING * 3, text="I look up the first day."),
    calls(call("look_up", city="Hangzhou", day="2026-04-02"), thinking=THINKING * 2, text="And the second one."),
    calls(call("send", to="me@example.com", text=ANSWER), thinking=THINKING, text="I send you the list."),
    {"thinking": THINKING * 2, "text": ANSWER * 4},
)
"""Three tools, one of which a person is asked about, and an answer; with thinking. Twenty events."""

OF_A_SESSION = 4
"""Runs."""

MINUTE = 60_000
AT_ONCE = 500
"""Runs written by one statement."""


def settings(home: Path, url: str | None) -> Settings:
    """Those of a house that does the errand."""
    door = Door(home=home, here=home)
    door.with_tools(TOOLS)
    return Settings(
        home=home,
        database_url=url,
        model=door.script(*REPLIES),
        tools={"modules": [str(home / "own_tools.py")]},
        server={"rate_limit": "1000000/minute"},
    )


def engine(home: Path, url: str | None) -> Engine:
    """The database of such a house, beside the house."""
    return create_engine((url or f"sqlite:///{home}/zeno.db").replace("postgresql:", "postgresql+psycopg:"))


class Copier:
    """Copies of one finished run, older and older, `OF_A_SESSION` in a session."""

    def __init__(self, connection: Connection, run_id: str) -> None:
        self._run_id = run_id
        self._rows: dict[Any, list[dict[str, Any]]] = {}
        (run,) = self._read(connection, runs, runs.c.id == run_id)
        self._session_id = run["session_id"]
        self._read(connection, sessions, sessions.c.id == self._session_id)
        for table in (events, inbox, approvals, effects, audit):
            self._read(connection, table, table.c.run_id == run_id)

    def write(self, connection: Connection, number: int) -> list[str]:
        """So many: their ids, the newest first."""
        ids = [secrets.token_hex(16) for _ in range(number)]
        homes = [secrets.token_hex(16) for _ in range(0, number, OF_A_SESSION)]
        for table in (sessions, runs, events, inbox, approvals, effects, audit):
            rows = self._rows[table]
            every = OF_A_SESSION if table is sessions else 1
            for start in range(0, number, AT_ONCE * every):
                chosen = range(start, min(number, start + AT_ONCE * every), every)
                copies = [
                    self._copy(row, ids[each], homes[each // OF_A_SESSION], (each + 1) * MINUTE)
                    for each in chosen
                    for row in rows
                ]
                if copies:
                    connection.execute(insert(table), copies)
        return ids

    def _read(self, connection: Connection, table: Any, which: Any) -> Sequence[dict[str, Any]]:
        found = [dict(row) for row in connection.execute(select(table).where(which)).mappings()]
        self._rows[table] = found
        return found

    def _copy(self, row: dict[str, Any], run_id: str, session_id: str, older: int) -> dict[str, Any]:
        """A row of another run, that much earlier."""
        made = {name: self._renamed(name, value, run_id, session_id, older) for name, value in row.items()}
        if "key" in made:
            made["key"] = secrets.token_hex(32)
        if isinstance(made.get("id"), int):
            # Counted by the database.
            del made["id"]
        return made

    def _renamed(self, name: str, value: Any, run_id: str, session_id: str, older: int) -> Any:
        if isinstance(value, str):
            return value.replace(self._run_id, run_id).replace(self._session_id, session_id)
        if isinstance(value, int) and (name == "at" or name.endswith("_at")):
            return value - older
        return value
