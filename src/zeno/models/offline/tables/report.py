"""The report of a table job, as arguments of `generate_word_report`."""

import re
from pathlib import PurePosixPath
from typing import Any

from zeno.i18n import text
from zeno.models.offline.conversation import Job
from zeno.models.offline.tables import facts, figures, remarks
from zeno.models.offline.tables.facts import GroupFigure
from zeno.models.offline.tables.findings import Block
from zeno.models.offline.tables.narrative import Narrative
from zeno.models.offline.tables.plan import Plan

_MOST_PERIODS_IN_CHART = 60


def arguments(plan: Plan, blocks: list[Block], job: Job) -> dict[str, Any]:
    """The whole report: conclusion first, then key figures, charts and tables, what stands out, remarks on the data."""
    language, main = job.language, Narrative(blocks[0], job.language)
    sections = [_section(plan, Narrative(block, language)) for block in blocks]
    if blocks[0].line and blocks[0].group and plan.chart != "pie":
        sections.insert(1, _total_section(main))
    bullets = main.stands_out()
    if bullets:
        sections.append({"heading": main.say("report.stands_out"), "bullets": bullets})
    return {
        "title": title(plan, main),
        "subtitle": _subtitle(plan, blocks[0], language),
        "headline": main.headline(),
        "key_figures": key_figures(main),
        "sections": sections,
        "notes": [*_no_pie(plan, sections, main), *remarks.of_plan(plan, blocks, language), *remarks.of_data(plan, job)],
        "file_name": f"{_stem(plan)}-report",
        "language": language,
    }


def _no_pie(plan: Plan, sections: list[dict[str, Any]], main: Narrative) -> list[str]:
    drawn = any(section.get("chart", {}).get("kind") == "pie" for section in sections)
    return [main.say("report.no_pie")] if plan.chart == "pie" and not drawn else []


def title(plan: Plan, main: Narrative) -> str:
    """What the report is about, with its grain."""
    grain = plan.every or "none"
    group = plan.groups[0].name if plan.groups else ""
    key = f"report.title_by.{grain}" if group else f"report.title.{grain}"
    return main.say(key, label=main.label, group=group)


def key_figures(main: Narrative) -> list[dict[str, Any]]:
    """The cards: latest period, the whole, the leading group, the group that rose and the one that fell most."""
    block, line = main.block, main.block.line
    cards: list[dict[str, Any]] = []
    if line and line.latest is not None:
        change = facts.difference(line.latest, line.previous)
        cards.append(
            _card(main.say("card.latest", label=main.label, period=main.period(line, line.last)), main.shown(line.latest))
        )
        if change is not None:
            percent = figures.signed_points(facts.percent(line.latest, line.previous), main.language)
            cards[-1] |= {"change": percent if percent != "—" else main.signed(change), "trend": _trend(change)}
    if block.overall is not None:
        cards.append(_card(main.say("card.whole", label=main.label), main.shown(block.overall)))
    leader = main.leader()
    if leader:
        value = figures.points(leader.share, main.language) if leader.share is not None else main.shown(leader.total)
        key = "card.leader_share" if leader.share is not None else "card.leader"
        cards.append(_card(f"{main.say(key)} · {leader.name}", value))
    for key, mover in (("card.riser", main.mover(max, 1)), ("card.faller", main.mover(min, -1))):
        if mover and mover.change is not None:
            moved, shown = facts.percent(mover.latest, mover.previous), main.signed(mover.change)
            if moved is not None:
                shown = f"{shown} ({figures.signed_points(moved, main.language)})"
            cards.append(_card(main.say(key), mover.name) | {"change": shown, "trend": _trend(mover.change)})
    return cards


def _section(plan: Plan, told: Narrative) -> dict[str, Any]:
    block = told.block
    group = block.group.name if block.group else ""
    heading = told.say("report.by_group", label=told.label, group=group) if group else told.label
    section: dict[str, Any] = {"heading": figures.sentence(heading, told.language), "paragraphs": [told.lead()]}
    chart = _chart(plan, told)
    if chart:
        section["chart"] = chart
    table = _group_table(told) if block.figures else _period_table(told)
    return section | ({"table": table} if table else {})


def _chart(plan: Plan, told: Narrative) -> dict[str, Any] | None:
    block, line = told.block, told.block.line
    group = block.group.name if block.group else ""
    if (
        plan.chart == "pie"
        and block.measure.adds_up
        and all((f.total or 0) >= 0 for f in block.figures)
        and len(block.figures) > 1
    ):
        name = told.say("report.shares", label=told.label, group=group)
        return _of_groups(told, "pie", name)
    kind = plan.chart if plan.chart in ("line", "bar") else None
    if line and (block.drawn or not group):
        drawn = {told.name(name): values for name, values in block.drawn.items()} or {told.label: line.values}
        name = told.say("report.over_time", label=told.label, grain=told.word(f"grain.{line.every}"))
        start = max(len(line.labels) - _MOST_PERIODS_IN_CHART, 0)
        series = [{"name": name, "values": list(values[start:])} for name, values in drawn.items()]
        chart = {"kind": kind or "line", "title": name, "categories": list(line.labels[start:]), "series": series}
        return _with_unit(chart, block)
    if not block.figures:
        return None
    return _of_groups(told, "bar", told.say("report.by_group", label=told.label, group=group))


def _of_groups(told: Narrative, kind: str, title: str) -> dict[str, Any]:
    shown = [figure for figure in told.block.figures if figure.total is not None]
    series = [{"name": told.label, "values": [figure.total for figure in shown]}]
    categories = [told.name(figure.name) for figure in shown]
    return _with_unit({"kind": kind, "title": title, "categories": categories, "series": series}, told.block)


def _group_table(told: Narrative) -> dict[str, Any]:
    block, line = told.block, told.block.line
    compared = line is not None and line.last > line.first and bool(block.drawn)
    columns = [block.group.name if block.group else ""]
    if line and compared:
        change = [told.say("table.change"), told.say("table.change_percent")]
        columns += [line.labels[line.last], line.labels[line.last - 1], *change]
    columns.append(told.say("table.whole") if line else told.label)
    adds_up = block.measure.adds_up and block.overall is not None
    columns += [told.say("table.share")] if adds_up else []
    rows = [_row(told, figure, compared=compared, adds_up=adds_up) for figure in block.figures]
    if adds_up and len(rows) > 1:
        latest, previous = (line.latest, line.previous) if line else (None, None)
        whole = GroupFigure(name=told.say("table.total"), total=block.overall, share=100.0, latest=latest, previous=previous)
        rows.append(_row(told, whole, compared=compared, adds_up=True))
    return {"columns": columns, "rows": rows, "total_row": adds_up and len(block.figures) > 1}


def _row(told: Narrative, figure: GroupFigure, *, compared: bool, adds_up: bool) -> list[Any]:
    scale = max((abs(other.total or 0.0) for other in told.block.figures), default=0.0)
    row: list[Any] = [told.name(figure.name)]
    if compared:
        percent = figures.signed_points(facts.percent(figure.latest, figure.previous), told.language)
        row += [*(figures.rounded(value, scale) for value in (figure.latest, figure.previous, figure.change)), percent]
    row.append(figures.rounded(figure.total, scale))
    return row + ([figures.points(figure.share, told.language)] if adds_up else [])


def _period_table(told: Narrative) -> dict[str, Any] | None:
    line = told.block.line
    if line is None:
        return None
    rows: list[list[Any]] = []
    for at in range(max(len(line.labels) - _MOST_PERIODS_IN_CHART, 0), len(line.labels)):
        before = line.values[at - 1] if at else None
        change = facts.difference(line.values[at], before)
        percent = figures.signed_points(facts.percent(line.values[at], before), told.language)
        rows.append([line.labels[at], figures.rounded(line.values[at]), figures.rounded(change), percent])
    columns = [told.word(f"grain.{line.every}"), told.label, told.say("table.change"), told.say("table.change_percent")]
    return {"columns": columns, "rows": rows}


def _total_section(told: Narrative) -> dict[str, Any]:
    line = told.block.line
    assert line is not None  # noqa: S101 - the caller checks for a timeline
    start = max(len(line.labels) - _MOST_PERIODS_IN_CHART, 0)
    name = told.say("report.whole_over_time", label=told.label)
    series = [{"name": told.label, "values": list(line.values[start:])}]
    chart = {"kind": "line", "title": name, "categories": list(line.labels[start:]), "series": series}
    return {"heading": name, "chart": _with_unit(chart, told.block)}


def _subtitle(plan: Plan, block: Block, language: str) -> str:
    if plan.days is None or plan.time is None:
        return text(language, "offline.report.subtitle", path=plan.profile.path, rows=plan.profile.rows)
    first, last = facts.data_ends(plan.days, plan.where, plan.time.name)
    return text(
        language, "offline.report.subtitle_period", path=plan.profile.path, first=first.isoformat(), last=last.isoformat()
    )


def _with_unit(chart: dict[str, Any], block: Block) -> dict[str, Any]:
    return chart | ({"unit": block.measure.unit} if block.measure.unit else {})


def _card(label: str, value: str) -> dict[str, Any]:
    return {"label": label, "value": value}


def _trend(change: float) -> str:
    return "up" if change > 0 else "down" if change < 0 else "flat"


def _stem(plan: Plan) -> str:
    return re.sub(r"[^\w-]+", "-", PurePosixPath(plan.profile.path).stem).strip("-") or "table"
