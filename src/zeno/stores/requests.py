"""Requests: which run was made for a request that the caller gave a name, so that asking again makes no second one."""

from sqlalchemy import select

from zeno.core.scope import Scope
from zeno.stores.database import Database
from zeno.stores.tables import runs


async def run_of_request(database: Database, scope: Scope, session_id: str, request_key: str) -> str | None:
    """The id of the run that was made in a session for the request of that name."""
    named = select(runs.c.id).where(runs.c.session_id == session_id, runs.c.request_key == request_key)
    own = named.where(runs.c.team_id == scope.team, runs.c.user_id == scope.user)
    return await database.read(lambda connection: connection.scalar(own))
