"""The history of the schema. A released version is never edited; `HEAD` names the newest."""

HEAD = "0002"

OLDEST = "0002"
"""The oldest `HEAD` whose release may work with this schema. A migration that only adds leaves it as it is."""
