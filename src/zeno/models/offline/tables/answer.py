"""A short answer from the results of queries: a sentence, and a small Markdown table when there are several rows."""

from collections.abc import Sequence

from zeno.i18n import text
from zeno.models.offline.conversation import Job
from zeno.models.offline.tables import facts, figures, queries, remarks
from zeno.models.offline.tables.findings import Block, grid_query, result
from zeno.models.offline.tables.lexicon import IDENTIFIER, normal
from zeno.models.offline.tables.narrative import Narrative
from zeno.models.offline.tables.periods import spoken_period
from zeno.models.offline.tables.plan import Measure, Plan
from zeno.models.offline.tables.profile import Cell, Column, Profile, Rows

_MOST_ROWS = 24


def needed(plan: Plan, job: Job) -> list[queries.Query]:
    """The queries whose results the answer still lacks."""
    if plan.overview:
        return []
    wanted = [queries.overall(plan, measure) for measure in plan.measures]
    if plan.every and plan.groups:
        wanted += [queries.by_period(plan, plan.measure), queries.by_group(plan, plan.measure, plan.groups[0])]
        grid = grid_query(plan, plan.measure, plan.groups[0], job)
        wanted += [grid] if grid else []
    elif plan.every:
        wanted += [queries.by_period(plan, measure) for measure in plan.measures]
    elif plan.groups:
        wanted += [queries.by_groups(plan, plan.groups)]
    return [query for query in wanted if job.find("query_table", query) is None]


def told(plan: Plan, blocks: Sequence[Block], job: Job) -> str:
    """The answer: conclusion, rows, and what was assumed or left out."""
    main = Narrative(blocks[0], job.language)
    if plan.overview:
        return overview(plan.profile, job.language)
    if plan.every:
        body = _over_time(plan, blocks, main)
    elif plan.groups:
        body = _by_groups(plan, job, main)
    else:
        body = [_overall(plan, measure, job) for measure in plan.measures]
    notes = [*remarks.of_plan(plan, blocks if plan.every else (), job.language), *remarks.left_out(plan, job)]
    return "\n\n".join([*body, *(["\n".join(f"- {note}" for note in notes)] if notes else [])])


def overview(profile: Profile, language: str) -> str:
    """What is in the file: its size and its columns."""
    rows = [
        [column.name, text(language, f"offline.type.{column.type}"), _range(column, language)] for column in profile.columns
    ]
    heads = [text(language, f"offline.table.{name}") for name in ("column", "type", "values")]
    opening = text(language, "offline.answer.overview", path=profile.path, rows=profile.rows, columns=len(profile.columns))
    notes = [remarks.told(note, language) for note in profile.notes]
    body = [
        opening,
        markdown(heads, rows),
        "\n".join(f"- {note}" for note in notes),
        text(language, "offline.answer.what_next"),
    ]
    return "\n\n".join(part for part in body if part)


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines)


def _overall(plan: Plan, measure: Measure, job: Job) -> str:
    rows = result(job, queries.overall(plan, measure))
    value = facts.single(rows) if rows else None
    label = figures.label(measure, job.language)
    if value is None:
        return figures.sentence(text(job.language, "offline.answer.nothing", label=label), job.language)
    told = text(job.language, "offline.lead.whole", label=label, total=figures.figure(value, measure.unit, job.language))
    return figures.sentence(told, job.language)


def _over_time(plan: Plan, blocks: Sequence[Block], main: Narrative) -> list[str]:
    line = main.block.line
    if line is None or not line.complete:
        return [main.say("answer.nothing", label=main.label)]
    drawn = [(main.name(name), values) for name, values in main.block.drawn.items()]
    columns = drawn or [(figures.label(block.measure, main.language), block.line.values) for block in blocks if block.line]
    units = [plan.measure.unit] * len(columns) if drawn else [block.measure.unit for block in blocks]
    rows = []
    for at in range(max(len(line.labels) - _MOST_ROWS, 0), len(line.labels)):
        cells = [figures.figure(values[at], unit, main.language) for (_, values), unit in zip(columns, units, strict=False)]
        rows.append([line.labels[at], *cells])
    best = max(line.complete, key=lambda pair: pair[1])
    worst = min(line.complete, key=lambda pair: pair[1])
    extreme = worst if plan.ranking == "least" else best
    key = f"answer.{'lowest' if plan.ranking == 'least' else 'highest'}_period"
    told = main.say(
        key, label=main.label, period=spoken_period(extreme[0], line.every, main.language), figure=main.shown(extreme[1])
    )
    shown = rows if plan.ranking is None or len(rows) <= _MOST_ROWS else rows[-_MOST_ROWS:]
    course = [main.headline(), main.trend()]
    opening = [sentence for sentence in ([told, *course] if plan.ranking else [*course, told]) if sentence]
    cut = [main.say("answer.last_rows", count=_MOST_ROWS)] if len(line.labels) > _MOST_ROWS else []
    return [*opening, markdown([main.word(f"grain.{line.every}"), *(name for name, _ in columns)], shown), *cut]


def _by_groups(plan: Plan, job: Job, main: Narrative) -> list[str]:
    rows = result(job, queries.by_groups(plan, plan.groups))
    if rows is None or not rows.rows:
        return [main.say("answer.nothing", label=main.label)]
    found = _figures_of(plan, rows)
    most = plan.top or (1 if plan.ranking and _asks_for_one(job) else _MOST_ROWS)
    shown = found[: max(most, 5) if plan.ranking and not plan.top else min(most, _MOST_ROWS)]
    opening = _opening(plan, found, main)
    heads = [group.name for group in plan.groups] + [figures.label(measure, job.language) for measure in plan.measures]
    whole = main.block.overall if plan.measure.adds_up else None
    table = [_cells(plan, names, values, whole, main) for names, values in shown]
    heads += [main.say("table.share")] if whole else []
    left = len(found) - len(shown)
    cut = [main.say("answer.more_rows", count=left)] if left and not plan.ranking else []
    return [opening, *([markdown(heads, table)] if len(shown) > 1 else []), *cut]


def _figures_of(plan: Plan, rows: Rows) -> list[tuple[list[Cell], list[float | None]]]:
    width = len(plan.groups)
    found = [(row[:width], [facts.number(cell) for cell in row[width:]]) for row in rows.rows]
    return [
        (names, values)
        for names, values in found
        if not plan.ranking or (values and values[0] is not None and names[0] is not None)
    ]


def _opening(plan: Plan, found: list[tuple[list[Cell], list[float | None]]], main: Narrative) -> str:
    names, values = found[0]
    leader = " / ".join(_name(cell, main) for cell in names)
    least = plan.ranking == "least"
    share = facts.share(values[0], main.block.overall) if plan.measure.adds_up else None
    key = "answer.lowest" if least else "answer.highest"
    group = " / ".join(column.name for column in plan.groups)
    params = {"label": main.label, "group": group, "name": leader, "figure": main.shown(values[0])}
    opening = main.say(f"{key}_share" if share is not None else key, **params, share=figures.points(share, main.language))
    if main.block.overall is not None and not plan.ranking:
        return (
            main.say("lead.whole", label=main.label, total=main.shown(main.block.overall)) + main.word("words.next") + opening
        )
    return opening


def _cells(
    plan: Plan, names: Sequence[Cell], values: Sequence[float | None], whole: float | None, main: Narrative
) -> list[str]:
    shown = [figures.figure(value, measure.unit, main.language) for value, measure in zip(values, plan.measures, strict=False)]
    share = [figures.points(facts.share(values[0], whole), main.language)] if whole else []
    return [*(_name(name, main) for name in names), *shown, *share]


def _name(cell: Cell, main: Narrative) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return main.word("words.blank") if cell is None else str(cell)


def _name_of_end(end: object) -> str:
    return str(int(end)) if isinstance(end, float) and end.is_integer() else str(end)


def _asks_for_one(job: Job) -> bool:
    return not any(word in job.said.lower() for word in ("rank", "sort", "排名", "排行", "排序"))


def _range(column: Column, language: str) -> str:
    if column.type in ("number", "date") and column.minimum is not None:
        if column.type == "number" and not IDENTIFIER.search(normal(column.name)):
            return " – ".join(figures.figure(facts.number(end), None, language) for end in (column.minimum, column.maximum))
        return " – ".join(_name_of_end(end) for end in (column.minimum, column.maximum))
    return ", ".join(str(example) for example in column.examples[:5])
