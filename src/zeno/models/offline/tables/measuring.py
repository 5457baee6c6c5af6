"""Which figures a sentence asks for, and which function makes sense of a column."""

from collections.abc import Sequence

from zeno.models.embedding import BundledEmbedder
from zeno.models.offline.tables import wording
from zeno.models.offline.tables.columns import Mention, named, nearest, nearest_value, unique
from zeno.models.offline.tables.hearing import Said, unexplained
from zeno.models.offline.tables.lexicon import AVERAGED, IDENTIFIER, MONEY, MONEY_LIKE, concept_of, normal
from zeno.models.offline.tables.plan import Assumed, Measure
from zeno.models.offline.tables.profile import Column, Profile

_MOST_MEASURES = 3


def measures_of(said: Said, profile: Profile, embedder: BundledEmbedder, assumed: Assumed) -> tuple[Measure, ...]:
    """The figures the sentence asks for, at most three; the most money-like one when it names none."""
    function = wording.function(said.words)
    counted = wording.counted(said.words)
    if counted is not None and function != "mean":
        measure = _count(counted, said, profile)
        if measure:
            return (measure,)
    figures = [mention for mention in said.mentioned if _is_measure(mention)]
    named_columns = unique([*_numbers(said.answered), *(m.column for m in figures if not _describes(m, figures))])
    if not named_columns:
        named_columns = _foreign(said, profile, embedder)
    if not named_columns:
        chosen = _most_like_money(profile, embedder)
        if chosen is None:
            return (Measure("count"),)
        if len(profile.of_type("number")) > 1:
            assumed.append(("measure", {"column": chosen.name}))
        named_columns = [chosen]
    return tuple(Measure(function or default_function(column), column) for column in named_columns[:_MOST_MEASURES])


def extreme(said: Said, measures: tuple[Measure, ...], ranking: str) -> tuple[Measure, ...]:
    """Without a group "the highest salary" is the greatest value, not a ranking."""
    column = measures[0].column
    if not said.mentioned or column is None or wording.top(said.words) or wording.function(said.words):
        return measures
    return (Measure("min" if ranking == "least" else "max", column),)


def default_function(column: Column) -> wording.Function:
    """The function that makes sense of a column when none is named."""
    return "mean" if column.unit == "%" or AVERAGED.search(normal(column.name)) else "sum"


def _count(counted: str, said: Said, profile: Profile) -> Measure | None:
    """What "how many ..." counts: the sum of a numeric column, the different values of another, or rows."""
    column = named(counted, profile.columns) if counted else None
    if column is None:
        return Measure("count") if not _numbers([m.column for m in said.mentioned]) or counted else None
    if column.type == "number" and not IDENTIFIER.search(normal(column.name)):
        return Measure("sum", column)
    return Measure("count_distinct", column) if column not in said.groups else Measure("count")


def _describes(mention: Mention, figures: Sequence[Mention]) -> bool:
    """Whether a figure's name only describes the next one: "order" in "order amount"."""
    return any(other.start == mention.end + 1 and other.column != mention.column for other in figures)


def _is_measure(mention: Mention) -> bool:
    return mention.column.type == "number" and not IDENTIFIER.search(normal(mention.column.name))


def _foreign(said: Said, profile: Profile, embedder: BundledEmbedder) -> list[Column]:
    """The numeric column that a word means which is in another script than the column's name."""
    numeric = [column for column in profile.of_type("number") if not IDENTIFIER.search(normal(column.name))]
    for word in unexplained(said):
        other = [column for column in numeric if column.name.isascii() != word.isascii()]
        found = nearest_value(word, [normal(column.name) for column in other], embedder) if other else None
        if found:
            return [column for column in other if normal(column.name) == found][:1]
    return []


def _most_like_money(profile: Profile, embedder: BundledEmbedder) -> Column | None:
    """The numeric column a report would be about: money before other amounts, never an identifier or a percentage."""
    candidates = [column for column in profile.of_type("number") if not IDENTIFIER.search(normal(column.name))]
    amounts = [column for column in candidates if column.unit != "%" and not AVERAGED.search(normal(column.name))]
    for concept in MONEY_LIKE:
        for column in amounts:
            if concept_of(column.name) == concept:
                return column
    for column in amounts:
        if column.unit:
            return column
    if len(amounts) > 1:
        return nearest(f"{MONEY[0]} {MONEY[3]}", amounts, embedder) or amounts[0]
    return next(iter(amounts or candidates), None)


def _numbers(columns: Sequence[Column]) -> list[Column]:
    return [column for column in columns if column.type == "number"]
