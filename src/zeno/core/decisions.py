"""Decisions: what a person, or the passing of time, said to a call that was held for them."""

from msgspec import Struct

from zeno.core.ports import Answer


class Approved(Struct, frozen=True, forbid_unknown_fields=True, tag="approve"):
    """Carry it out as it is."""


class Edited(Struct, frozen=True, forbid_unknown_fields=True, tag="edit"):
    """Carry it out with these arguments, a JSON object as text, instead."""

    arguments: str
    reason: str = ""


class Denied(Struct, frozen=True, forbid_unknown_fields=True, tag="deny"):
    """Do not carry it out."""

    reason: str = ""


class Answered(Struct, frozen=True, forbid_unknown_fields=True, tag="answer"):
    """The answer to a question."""

    answer: Answer


class Expired(Struct, frozen=True, forbid_unknown_fields=True, tag="expire"):
    """Nobody decided in time, which means no."""


Decision = Approved | Edited | Denied | Answered | Expired
PERMITTING = (Approved, Edited, Answered)
"""The decisions by which a call may be carried out; there are no others."""
