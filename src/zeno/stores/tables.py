"""The tables, in SQLAlchemy Core and for every dialect. Times are milliseconds since 1970-01-01 UTC.

A run's id is its trace id (32 hexadecimal digits), so every row that names a run carries the trace id.
"""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

LONG_TEXT = Text(2**24)
"""Text of up to 16 MiB: the plain type of some databases ends at 64 KiB."""

AUTO_ID = BigInteger().with_variant(Integer, "sqlite")
"""A number that the database counts up; SQLite does so for its own integer type only."""

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("title", String(200), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("session_id", String(32), ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("task", LONG_TEXT, nullable=False),
    Column("agent", LONG_TEXT, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("ending", String(32)),
    Column("epoch", Integer, nullable=False),
    Column("lease_owner", String(200)),
    Column("lease_until", BigInteger),
    Index("ix_runs_session_id", "session_id", "created_at"),
    Index("ix_runs_created_at", "created_at"),
)

events = Table(
    "events",
    metadata,
    Column("run_id", String(32), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("type", String(32), nullable=False),
    Column("body", LONG_TEXT, nullable=False),
)

inbox = Table(
    "inbox",
    metadata,
    Column("id", AUTO_ID, primary_key=True),
    Column("run_id", String(32), ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("body", LONG_TEXT, nullable=False),
    Column("absorbed", Boolean, nullable=False),
    Index("ix_inbox_run_id", "run_id", "absorbed"),
)
