"""The first tables: sessions, runs, the event log and the inbox."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

long_text = sa.Text(2**24).with_variant(sa.Text(), "postgresql")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("session_id", sa.String(32), nullable=False),
        sa.Column("task", long_text, nullable=False),
        sa.Column("agent", long_text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("ending", sa.String(32)),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("lease_owner", sa.String(200)),
        sa.Column("lease_until", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_runs_session_id", ondelete="CASCADE"),
    )
    op.create_index("ix_runs_session_id", "runs", ["session_id", "created_at"])
    op.create_index("ix_runs_created_at", "runs", ["created_at"])
    op.create_table(
        "events",
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("body", long_text, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_events"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_events_run_id", ondelete="CASCADE"),
    )
    op.create_table(
        "inbox",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False, autoincrement=True),
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("body", long_text, nullable=False),
        sa.Column("absorbed", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_inbox"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_inbox_run_id", ondelete="CASCADE"),
    )
    op.create_index("ix_inbox_run_id", "inbox", ["run_id", "absorbed"])
