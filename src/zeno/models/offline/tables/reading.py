"""From a sentence and the profile of a file to the plan of the job.

What the sentence does not say is decided sensibly and noted in the plan; a column that does not exist is asked about.
"""

from zeno.i18n import text
from zeno.models.embedding import BundledEmbedder
from zeno.models.offline.choose import wants_report
from zeno.models.offline.conversation import Job
from zeno.models.offline.sentence import plain, without_addresses
from zeno.models.offline.tables import filters, grouping, measuring, timing, wording
from zeno.models.offline.tables.columns import nearest_value
from zeno.models.offline.tables.hearing import Said, heard, unexplained
from zeno.models.offline.tables.lexicon import IDENTIFIER, normal
from zeno.models.offline.tables.periods import Every
from zeno.models.offline.tables.plan import Assumed, Condition, Measure, Plan
from zeno.models.offline.tables.profile import Column, Profile
from zeno.models.offline.tables.spans import Span, without_spans

_MOST_LOOKED_UP = 500


def plan_of(job: Job, profile: Profile, values: filters.Values, embedder: BundledEmbedder) -> Plan:
    """The plan of a job. Raises `Unclear` for a column that is not there."""
    said = heard(job, profile, embedder)
    report = wants_report(job.said)
    assumed: Assumed = _given(profile)
    asked = _asked(said, profile, values, embedder, assumed)
    measures = measuring.measures_of(said, profile, embedder, assumed)
    groups = grouping.groups_of(said, profile, asked, measures)
    time = timing.time_of(said, profile)
    limits, stretch = filters.by_time(said.words, time, report=report)
    every = _followed(said, time, stretch, assumed, report=report)
    ranking = wording.ranking(said.words)
    if ranking and not groups and every is None and not report:
        measures = measuring.extreme(said, measures, ranking)
    if not groups and (report or _ranks_groups(ranking, every, measures)):
        groups = grouping.default_groups(profile, asked, assumed)
    return Plan(
        profile=profile,
        measures=measures,
        groups=groups,
        time=time,
        every=every,
        where=(*filters.without_totals(profile), *asked, *limits),
        limited_to=tuple(_condition_words(job.language, condition) for condition in (*asked, *limits)),
        report=report,
        overview=not report and not asked and not limits and _asks_nothing(said),
        chart=wording.chart(said.words),
        ranking=ranking,
        top=wording.top(said.words),
        assumed=tuple(assumed),
    )


def _given(profile: Profile) -> Assumed:
    """What the file itself makes us assume."""
    assumed: Assumed = []
    if profile.sheet and len(profile.sheets) > 1:
        assumed.append(("sheet", {"sheet": profile.sheet}))
    if filters.without_totals(profile):
        assumed.append(("total_rows", {"rows": filters.total_rows(profile)}))
    return assumed


def _followed(said: Said, time: Column | None, stretch: Span | None, assumed: Assumed, *, report: bool) -> Every | None:
    """The grain in which figures are followed over time; `None` when the sentence does not care for time."""
    words = said.words
    wanted = (report and wording.chart(words) != "pie") or wording.grain(words) or wording.speaks_of_trend(words)
    return timing.every_of(said, time, stretch, assumed) if time and wanted else None


def _ranks_groups(ranking: str | None, every: Every | None, measures: tuple[Measure, ...]) -> bool:
    return every is None and bool(ranking) and measures[0].function not in ("min", "max")


def _asked(
    said: Said, profile: Profile, values: filters.Values, embedder: BundledEmbedder, assumed: Assumed
) -> list[Condition]:
    """The conditions the sentence names; what it limits itself to without any column holding it is told, not ignored."""
    asked = [*filters.by_value(said.words, values, profile.columns), *filters.by_number(said.words, said.mentioned)]
    known = {value: name for name, listed in values.items() for value in listed}
    limits = filters.not_applied(without_spans(said.original), asked, profile.columns)
    foreign = {value: name for value, name in known.items() if value.isascii()}
    for word in (word for word in unexplained(said) if not word.isascii() and foreign):
        value = nearest_value(word, list(foreign), embedder)
        if value is not None:
            _limit(asked, known[value], value)
            limits = [words for words in limits if words != word]
    for words in limits:
        value = nearest_value(words, list(known), embedder)
        if value is None:
            assumed.append(("not_applied", {"words": words}))
        else:
            _limit(asked, known[value], value)
    return asked


def _limit(asked: list[Condition], column: str, value: str) -> None:
    """Add a value to the ones a column is limited to."""
    same = next((condition for condition in asked if condition["column"] == column and condition["op"] in ("=", "in")), None)
    if same is None:
        asked.append({"column": column, "op": "=", "value": value})
        return
    values = same["value"] if same["op"] == "in" else [same["value"]]
    if value not in values:
        same |= {"op": "in", "value": [*values, value]}


def may_need_values(job: Job, profile: Profile, values: filters.Values) -> list[Column]:
    """The text columns whose values must be looked up before the sentence can be understood."""
    original = without_spans(plain(without_addresses(job.said)))
    if filters.by_value(original.lower(), values, profile.columns) or not filters.may_name_values(original.lower(), original):
        return []
    many = [column for column in profile.of_type("text") if len(column.examples) < column.distinct <= _MOST_LOOKED_UP]
    return [column for column in many if not IDENTIFIER.search(normal(column.name))]


def _asks_nothing(said: Said) -> bool:
    """Whether the sentence names a file and nothing to find out about it."""
    words = said.words
    reads = (
        wording.grain(words),
        wording.function(words),
        wording.counted(words),
        wording.ranking(words),
        wording.chart(words),
    )
    return not said.mentioned and not said.groups and all(read is None for read in reads) and not wording.speaks_of_trend(words)


def _condition_words(language: str, condition: dict[str, object]) -> str:
    value = condition["value"]
    shown = text(language, "offline.words.comma").join(str(entry) for entry in value) if isinstance(value, list) else str(value)
    return f"{condition['column']} {'=' if condition['op'] == 'in' else condition['op']} {shown}"
