"""By which columns the figures are broken down."""

from collections.abc import Sequence

from zeno.models.offline.tables.columns import unique
from zeno.models.offline.tables.hearing import Said
from zeno.models.offline.tables.lexicon import GROUPS, IDENTIFIER, concept_of, normal
from zeno.models.offline.tables.plan import Assumed, Condition, Measure
from zeno.models.offline.tables.profile import Column, Profile

_MOST_GROUPS = 2
_MANY_VALUES = 40
_FEW_VALUES = 12


def groups_of(said: Said, profile: Profile, where: Sequence[Condition], measures: Sequence[Measure]) -> tuple[Column, ...]:
    """The groups the sentence names, in any of its ways; none when it names none."""
    single = {condition["column"] for condition in where if condition["op"] == "="}
    several = [profile.column(str(condition["column"])) for condition in where if condition["op"] == "in"]
    phrased = [column for column in said.groups if column.type in ("text", "boolean") or _groups_by_number(column, measures)]
    loose = [m.column for m in said.mentioned if m.column.type in ("text", "boolean") and m.column.name not in single]
    counted = {measure.column.name for measure in measures if measure.function == "count_distinct" and measure.column}
    answered = [column for column in said.answered if column.type in ("text", "boolean")]
    chosen = unique([*answered, *phrased, *loose, *several])
    return tuple(column for column in chosen if column.name not in counted)[:_MOST_GROUPS]


def default_groups(profile: Profile, where: Sequence[Condition], assumed: Assumed) -> tuple[Column, ...]:
    """The column that breaks figures down best when none is named: few values and a familiar concept."""
    single = {condition["column"] for condition in where if condition["op"] == "="}
    texts = [c for c in profile.of_type("text", "boolean") if 2 <= c.distinct <= _MANY_VALUES and c.name not in single]
    texts = [column for column in texts if not IDENTIFIER.search(normal(column.name))]
    if not texts:
        return ()
    chosen = min(texts, key=lambda column: (_rank(column), column.distinct))
    assumed.append(("group", {"column": chosen.name}))
    return (chosen,)


def _groups_by_number(column: Column, measures: Sequence[Measure]) -> bool:
    return column.type == "number" and all(measure.column != column for measure in measures)


def _rank(column: Column) -> int:
    """How naturally a column breaks figures down: few values and a familiar concept come first."""
    concept = concept_of(column.name)
    familiar = GROUPS.index(concept) if concept in GROUPS else len(GROUPS)
    return familiar + (0 if column.distinct <= _FEW_VALUES else len(GROUPS))
