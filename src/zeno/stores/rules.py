"""Rules of users: what they have permitted or forbidden for their own runs, once and for all."""

from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, delete, insert, select

from zeno.core.errors import Conflict, NotFound
from zeno.core.policy import Rule
from zeno.core.scope import Scope
from zeno.stores.database import Database, reading, writing
from zeno.stores.tables import rules

MOST_RULES = 500
"""Rules that one user may keep."""


class KeptRule(msgspec.Struct, frozen=True):
    """A rule with its id; `created_at` is in milliseconds since 1970-01-01 UTC."""

    id: str
    rule: Rule
    created_at: int


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of all users."""

    database: Database

    @writing
    def add(self, connection: Connection, scope: Scope, kept: KeptRule) -> KeptRule:
        """Keep one more: the one that is there when it says the same. Raises `Conflict` when there is no room."""
        return put_rule(connection, scope, kept)

    @reading
    def of(self, connection: Connection, scope: Scope) -> list[KeptRule]:
        """The rules of one user, the oldest first."""
        return _of(connection, scope)

    @writing
    def remove(self, connection: Connection, scope: Scope, rule_id: str) -> None:
        """Forget one. Raises `NotFound`."""
        own = delete(rules).where(rules.c.id == rule_id, rules.c.team_id == scope.team, rules.c.user_id == scope.user)
        if (connection.execute(own)).rowcount == 0:
            raise NotFound("rule_not_found", rule=rule_id)


def put_rule(connection: Connection, scope: Scope, kept: KeptRule) -> KeptRule:
    """Keep a rule as part of a transaction, as `Rules.add` does."""
    present = _of(connection, scope)
    if same := [each for each in present if each.rule == kept.rule]:
        return same[0]
    if len(present) >= MOST_RULES:
        raise Conflict("rules_full", most=MOST_RULES)
    values = {"id": kept.id, "rule": msgspec.json.encode(kept.rule).decode(), "created_at": kept.created_at}
    connection.execute(insert(rules).values(values | {"team_id": scope.team, "user_id": scope.user}))
    return kept


def _of(connection: Connection, scope: Scope) -> list[KeptRule]:
    query = select(rules).where(rules.c.team_id == scope.team, rules.c.user_id == scope.user)
    rows = connection.execute(query.order_by(rules.c.created_at, rules.c.id))
    return [KeptRule(row.id, msgspec.json.decode(row.rule, type=Rule), row.created_at) for row in rows]
