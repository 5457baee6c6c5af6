"""Proof: how the routes tell the middlewares around them whom a request came from, once that is known."""

from dataclasses import dataclass

from starlette.types import Scope as Connection

from zeno.core.scope import Scope

_PLACE = "zeno.proof"


@dataclass
class Proof:
    """Whom a request came from; empty while that is not proven."""

    principal: str = ""


def expect_proof(connection: Connection) -> Proof:
    """Make the place where the proof will be put."""
    proof = Proof()
    connection[_PLACE] = proof
    return proof


def proven(connection: Connection, who: Scope) -> None:
    """Put down whom the request came from."""
    proof = connection.get(_PLACE)
    if isinstance(proof, Proof):
        proof.principal = f"{who.team}/{who.user}"
