"""The tables, in SQLAlchemy Core and for every dialect. Times are milliseconds since 1970-01-01 UTC.

A run's id is its trace id (32 hexadecimal digits), so every row that names a run carries the trace id.
"""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text, UniqueConstraint

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

LONG_TEXT = Text(2**24).with_variant(Text(), "postgresql")
"""Text of up to 16 MiB: the plain type of some databases ends at 64 KiB, and that of others takes no length."""

AUTO_ID = BigInteger().with_variant(Integer, "sqlite")
"""A number that the database counts up; SQLite does so for its own integer type only."""

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("team_id", String(32), nullable=False),
    Column("user_id", String(32), nullable=False),
    Column("title", String(200), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("used_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    Index("ix_sessions_user_id", "user_id", "team_id", "used_at"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("session_id", String(32), ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("team_id", String(32), nullable=False),
    Column("user_id", String(32), nullable=False),
    Column("request_key", String(128)),
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
    Index("ix_runs_user_id", "user_id", "team_id", "created_at"),
    Index("ix_runs_ended_at", "ended_at", "created_at"),
    Index("ix_runs_ending", "user_id", "team_id", "ending", "created_at"),
    Index("ix_runs_request_key", "session_id", "request_key", unique=True),
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
    Index("ix_inbox_absorbed", "absorbed"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", String(48), primary_key=True),
    Column("run_id", String(32), ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("call_id", String(200), nullable=False),
    Column("session_id", String(32), nullable=False),
    Column("team_id", String(32), nullable=False),
    Column("user_id", String(32), nullable=False),
    Column("approver", String(16), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("tool", String(200), nullable=False),
    Column("effect", String(16), nullable=False),
    Column("arguments", LONG_TEXT, nullable=False),
    Column("definition", String(64), nullable=False),
    Column("cause", String(32), nullable=False),
    Column("passage", LONG_TEXT),
    Column("requested_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("status", String(16), nullable=False),
    Column("decision", LONG_TEXT),
    Column("decided_at", BigInteger),
    Column("decided_by", String(32)),
    Column("notified_at", BigInteger),
    Index("ix_approvals_status", "status", "expires_at"),
    Index("ix_approvals_user_id", "user_id", "team_id", "status"),
    Index("ix_approvals_run_id", "run_id", "call_id"),
)
"""One row for each call that a person is asked about; `decision` is theirs as JSON, once there is one."""

effects = Table(
    "effects",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("run_id", String(32), nullable=False),
    Column("call_id", String(200), nullable=False),
    Column("tool", String(200), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("result", LONG_TEXT),
    Column("at", BigInteger, nullable=False),
    Column("settled_at", BigInteger),
    Index("ix_effects_run_id", "run_id"),
)
"""The ledger: the primary key is the promise that no effect happens twice. It goes with the conversation that it tells of."""

rules = Table(
    "rules",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("team_id", String(32), nullable=False),
    Column("user_id", String(32), nullable=False),
    Column("rule", LONG_TEXT, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_rules_user_id", "user_id", "team_id"),
)
"""What users have permitted or forbidden for their own runs."""

audit = Table(
    "audit",
    metadata,
    Column("id", AUTO_ID, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("team_id", String(32), nullable=False),
    Column("user_id", String(32), nullable=False),
    Column("action", String(64), nullable=False),
    Column("target", String(255), nullable=False),
    Column("run_id", String(32), nullable=False),
    Column("call_id", String(200), nullable=False),
    Column("effect", String(16), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("decision", String(48), nullable=False),
    Column("result", String(64), nullable=False),
    Index("ix_audit_at", "at"),
    Index("ix_audit_run_id", "run_id"),
)
"""Who did what, with which outcome; refused actions too. Only ever added to."""

users = Table(
    "users",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("password", String(255), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("disabled_at", BigInteger),
    UniqueConstraint("name"),
)

teams = Table(
    "teams",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("name"),
)

members = Table(
    "members",
    metadata,
    Column("team_id", String(32), ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", String(32), ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("role", String(16), nullable=False),
)

logins = Table(
    "logins",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("team_id", String(32), nullable=False),
    Column("user_id", String(32), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("ix_logins_user_id", "user_id"),
)
"""Who is logged in with a browser, by the hash of the cookie."""

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("team_id", String(32), nullable=False),
    Column("user_id", String(32), nullable=False),
    Column("name", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("rights", String(255), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("used_at", BigInteger),
    Column("revoked_at", BigInteger),
    UniqueConstraint("hash"),
    Index("ix_api_keys_user_id", "user_id", "team_id"),
)
"""Keys of programs, by their hash; `rights` are names, separated by spaces."""
