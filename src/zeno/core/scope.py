"""Whose something is: every row that a person can reach belongs to one user of one team."""

from msgspec import Struct


class Scope(Struct, frozen=True):
    """One user within one team, by their ids."""

    team: str
    user: str


LOCAL = Scope("local", "local")
"""The one user of an installation without accounts."""
