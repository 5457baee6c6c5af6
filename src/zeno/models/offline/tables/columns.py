"""Which columns a sentence means: by name, by a word of the same concept, and last by meaning across languages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from zeno.models.embedding import BundledEmbedder
from zeno.models.offline.tables.lexicon import CONCEPTS, concept_of, normal, spoken
from zeno.models.offline.tables.profile import Column

_NEAR_ENOUGH = 0.45
_MOST_OF_PHRASE = 0.55
_SAME_VALUE = 0.62
_CLEARLY_NEARER = 0.04
"""Cosines of the bundled embedder between a word and a column's name, measured on pairs of both languages."""


@dataclass(frozen=True)
class Mention:
    """A column and where the sentence names it."""

    column: Column
    start: int
    end: int


def mentions(said: str, columns: Sequence[Column]) -> list[Mention]:
    """The columns named in lower-case `said`, in the order of the sentence; the longest name wins where names overlap."""
    found: list[Mention] = []
    for names in (_full_names(columns), _concept_words(columns), _last_words(columns)):
        for word, column in sorted(names, key=lambda entry: -len(entry[0])):
            for match in spoken(word).finditer(said):
                if all(match.end() <= other.start or match.start() >= other.end for other in found):
                    found.append(Mention(column, match.start(), match.end()))
    return sorted(found, key=lambda mention: mention.start)


def named(phrase: str, columns: Sequence[Column]) -> Column | None:
    """The column that a short phrase names, by rules alone."""
    found = mentions(normal(phrase), columns)
    return max(found, key=_length).column if found else None


def mostly_named(phrase: str, columns: Sequence[Column]) -> Column | None:
    """Like `named`, but the name must make up most of the phrase: "成本" does not name "成本中心"."""
    found = mentions(normal(phrase), columns)
    longest = max(found, key=_length, default=None)
    return longest.column if longest and _length(longest) >= _MOST_OF_PHRASE * len(normal(phrase)) else None


def nearest(phrase: str, columns: Sequence[Column], embedder: BundledEmbedder) -> Column | None:
    """The column whose name means most nearly what the phrase says, `None` when none is clearly near."""
    if not columns or not phrase.strip():
        return None
    vectors = embedder.embed([phrase, *(normal(column.name) or column.name for column in columns)])
    scores = vectors[1:] @ vectors[0]
    order = scores.argsort()[::-1]
    best = float(scores[order[0]])
    second = float(scores[order[1]]) if len(columns) > 1 else 0.0
    return columns[int(order[0])] if best >= _NEAR_ENOUGH and best - second >= _CLEARLY_NEARER else None


def nearest_value(phrase: str, values: Sequence[str], embedder: BundledEmbedder) -> str | None:
    """The value that means most nearly what the phrase says, `None` when none is near."""
    spoken_values = [value for value in values if value.strip()]
    if not spoken_values or not phrase.strip():
        return None
    vectors = embedder.embed([phrase, *spoken_values])
    scores = vectors[1:] @ vectors[0]
    best = int(scores.argmax())
    return spoken_values[best] if float(scores[best]) >= _SAME_VALUE else None


def unique(columns: Sequence[Column]) -> list[Column]:
    """The columns, each once, in their order."""
    return list({column.name: column for column in columns}.values())


def _length(mention: Mention) -> int:
    return mention.end - mention.start


def _full_names(columns: Sequence[Column]) -> list[tuple[str, Column]]:
    names = [(normal(column.name), column) for column in columns]
    names += [(column.name.lower(), column) for column in columns if column.name.lower() != normal(column.name)]
    return [(name, column) for name, column in names if name and not re.fullmatch(r"[a-z0-9]|\d+", name)]


def _concept_words(columns: Sequence[Column]) -> list[tuple[str, Column]]:
    """Words of the lexicon that mean exactly one of the columns, or its first and most plainly named one."""
    owners: dict[tuple[str, ...], Column] = {}
    for column in sorted(columns, key=lambda column: len(normal(column.name))):
        concept = concept_of(column.name)
        if concept and column.type != "empty":
            owners.setdefault(concept, column)
    return [(word, owners[concept]) for concept in CONCEPTS if concept in owners for word in concept]


def _last_words(columns: Sequence[Column]) -> list[tuple[str, Column]]:
    """The last word of names of several words, where no other column ends with it: "revenue" for "Net Revenue"."""
    ends: dict[str, list[Column]] = {}
    for column in columns:
        words = normal(column.name).split()
        if len(words) > 1 and len(words[-1]) > 2:
            ends.setdefault(words[-1], []).append(column)
    return [(word, owners[0]) for word, owners in ends.items() if len(owners) == 1]
