"""Scopes, approvals, the effect ledger, rules, the audit, accounts.

What there was before belongs to the one user of an installation without accounts.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

long_text = sa.Text(2**24).with_variant(sa.Text(), "postgresql")
auto_id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the columns and make the tables."""
    _add_scopes()
    _make_approvals()
    _make_records()
    _make_accounts()
    _make_credentials()
    _state_letters()


def _add_scopes() -> None:
    """Add plain columns, with defaults that stay.

    For more, SQLite would make these tables anew, and dropping the old ones
    would take along every row that refers to them.
    """
    for table in ("sessions", "runs"):
        for name in ("team_id", "user_id"):
            op.add_column(table, sa.Column(name, sa.String(32), nullable=False, server_default="local"))
    op.add_column("runs", sa.Column("request_key", sa.String(128)))
    op.add_column("sessions", sa.Column("used_at", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("sessions", sa.Column("archived_at", sa.BigInteger))
    op.execute("update sessions set used_at = created_at")
    op.create_index("ix_sessions_user_id", "sessions", ["user_id", "team_id", "used_at"])
    op.create_index("ix_runs_user_id", "runs", ["user_id", "team_id", "created_at"])
    op.create_index("ix_runs_ended_at", "runs", ["ended_at", "created_at"])
    op.create_index("ix_runs_ending", "runs", ["user_id", "team_id", "ending", "created_at"])
    op.create_index("ix_inbox_absorbed", "inbox", ["absorbed"])
    op.create_index("ix_runs_request_key", "runs", ["session_id", "request_key"], unique=True)


def _make_approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.String(48), nullable=False),
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("call_id", sa.String(200), nullable=False),
        sa.Column("session_id", sa.String(32), nullable=False),
        sa.Column("team_id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("approver", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("tool", sa.String(200), nullable=False),
        sa.Column("effect", sa.String(16), nullable=False),
        sa.Column("arguments", long_text, nullable=False),
        sa.Column("definition", sa.String(64), nullable=False),
        sa.Column("cause", sa.String(32), nullable=False),
        sa.Column("passage", long_text),
        sa.Column("requested_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("decision", long_text),
        sa.Column("decided_at", sa.BigInteger),
        sa.Column("decided_by", sa.String(32)),
        sa.Column("notified_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_approvals"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_approvals_run_id", ondelete="CASCADE"),
    )
    op.create_index("ix_approvals_status", "approvals", ["status", "expires_at"])
    op.create_index("ix_approvals_user_id", "approvals", ["user_id", "team_id", "status"])
    op.create_index("ix_approvals_run_id", "approvals", ["run_id", "call_id"])


def _make_records() -> None:
    op.create_table(
        "effects",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("call_id", sa.String(200), nullable=False),
        sa.Column("tool", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("result", long_text),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("settled_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("key", name="pk_effects"),
    )
    op.create_index("ix_effects_run_id", "effects", ["run_id"])
    op.create_table(
        "rules",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("team_id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("rule", long_text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rules"),
    )
    op.create_index("ix_rules_user_id", "rules", ["user_id", "team_id"])
    op.create_table(
        "audit",
        sa.Column("id", auto_id, nullable=False, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("team_id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("target", sa.String(255), nullable=False),
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("call_id", sa.String(200), nullable=False),
        sa.Column("effect", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("decision", sa.String(48), nullable=False),
        sa.Column("result", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_index("ix_audit_run_id", "audit", ["run_id"])


def _make_accounts() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("password", sa.String(255), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("disabled_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name", name="uq_users_name"),
    )
    op.create_table(
        "teams",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_teams"),
        sa.UniqueConstraint("name", name="uq_teams_name"),
    )
    op.create_table(
        "members",
        sa.Column("team_id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("team_id", "user_id", name="pk_members"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_members_team_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_members_user_id", ondelete="CASCADE"),
    )


def _make_credentials() -> None:
    op.create_table(
        "logins",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("team_id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_logins"),
    )
    op.create_index("ix_logins_user_id", "logins", ["user_id"])
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("team_id", sa.String(32), nullable=False),
        sa.Column("user_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("rights", sa.String(255), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("used_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.UniqueConstraint("hash", name="uq_api_keys_hash"),
    )
    op.create_index("ix_api_keys_user_id", "api_keys", ["user_id", "team_id"])


def _state_letters() -> None:
    """Have MySQL and MariaDB keep every character, and tell texts apart that differ in case, as all other databases do.

    What such a database does by itself is up to whoever made it.
    """
    if op.get_context().dialect.name != "mysql":
        return
    tables = (
        "sessions", "runs", "events", "inbox", "approvals", "effects", "rules", "audit", "users", "teams", "members", "logins",
        "api_keys",
    )  # fmt: skip
    inspector = sa.inspect(op.get_bind())
    keys = [(table, key) for table in tables for key in inspector.get_foreign_keys(table)]
    # Columns that refer to each other cannot be of two kinds, not even for a moment.
    for table, key in keys:
        op.drop_constraint(str(key["name"]), table, type_="foreignkey")
    for table in tables:
        op.execute(f"alter table {table} convert to character set utf8mb4 collate utf8mb4_bin")
    for table, key in keys:
        columns = key["constrained_columns"], key["referred_columns"]
        op.create_foreign_key(key["name"], table, key["referred_table"], *columns, ondelete="CASCADE")
