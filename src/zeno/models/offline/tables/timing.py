"""Over which dates and in which grain figures are followed."""

from zeno.models.offline.tables import wording
from zeno.models.offline.tables.hearing import Said
from zeno.models.offline.tables.lexicon import concept_of
from zeno.models.offline.tables.periods import GRAINS, Every, finest, suited
from zeno.models.offline.tables.plan import Assumed, days_of
from zeno.models.offline.tables.profile import Column, Profile
from zeno.models.offline.tables.spans import Span


def time_of(said: Said, profile: Profile) -> Column | None:
    """The date column the job is about: the one mentioned, else the one plainly named."""
    dates = [column for column in profile.of_type("date") if days_of(column)]
    mentioned = [m.column for m in said.mentioned if m.column in dates]
    plainly = [column for column in dates if concept_of(column.name)]
    return next(iter([*mentioned, *plainly, *dates]), None)


def every_of(said: Said, time: Column, stretch: Span | None, assumed: Assumed) -> Every:
    """The grain asked for, else one that suits the span; never finer than the dates stand apart."""
    days = days_of(time)
    assert days is not None  # noqa: S101 - `_time` returns only columns with days
    first, last = days
    asked = wording.grain(said.words) or (stretch.unit if stretch else None)
    finest_shown = finest(first, last, time.distinct)
    if asked and GRAINS.index(asked) >= GRAINS.index(finest_shown):
        return asked
    if asked:
        assumed.append((f"too_fine_{finest_shown}", {"column": time.name}))
        return finest_shown
    start, end = (stretch.first or first, stretch.last or last) if stretch else (first, last)
    start, end = max(start, first), min(end, last)
    share = max((end - start).days + 1, 1) / max((last - first).days + 1, 1)
    every = suited(start, end, max(round(time.distinct * share), 1)) if start <= end else finest_shown
    assumed.append((f"every_{every}", {"column": time.name}))
    return every
