"""The port to a database: one connection for one call, and what a statement gives back. Knows no kind of database."""

from typing import NamedTuple, Protocol

from zeno.tools.builtin.sql.statement import Parameters

CONNECT_SECONDS = 10
"""How long connecting may take."""
STOP_SECONDS = 4
"""How long it may take to tell the server that a statement is to end."""

Row = tuple[object, ...]


class Rows(NamedTuple):
    """What a statement gave: at most as many rows as asked for, and whether there are `more`.

    `affected` counts the rows that were changed, -1 where that says nothing.
    """

    columns: tuple[str, ...]
    rows: list[Row]
    more: bool = False
    affected: int = -1


class StatementFailed(Exception):
    """The database or its driver reported an error. `undone` says that it certainly left nothing changed."""

    def __init__(self, message: str, *, undone: bool = True) -> None:
        super().__init__(message)
        self.undone = undone


class NotReached(StatementFailed):
    """There is no connection to be had, so nothing was carried out."""


class Session(Protocol):
    """A connection, used by one thread; `stop` alone may be called from another.

    Making one raises `NotReached`, its methods `StatementFailed`.
    """

    listing: str
    """A query for tables: name, kind, column, type, required, key, reference; `:name` is a pattern for LIKE."""

    def read(self, statement: str, parameters: Parameters, most: int) -> Rows:
        """The result of one statement that the database itself keeps from changing anything."""
        ...

    def change(self, statement: str, parameters: Parameters, most: int) -> Rows:
        """Carry out one statement in a transaction that is open afterwards, and rolled back when it fails."""
        ...

    def commit(self) -> None:
        """Make the change last. What fails without a clear no of the database is not `undone`."""
        ...

    def stop(self) -> None:
        """End the statement at work, at the server; it fails then. Never raises."""
        ...

    def close(self) -> None:
        """Roll back what is open and let go. Never raises."""
        ...
