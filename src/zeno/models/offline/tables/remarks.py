"""Remarks on the data: what was cleaned, what was left out, what was assumed. Nothing is dropped in silence."""

import re
from collections.abc import Sequence

from zeno.i18n import catalogue, text
from zeno.models.offline.conversation import Job
from zeno.models.offline.tables import figures
from zeno.models.offline.tables.findings import BLANK, REST, Block, query_notes
from zeno.models.offline.tables.periods import spoken_period
from zeno.models.offline.tables.plan import Plan
from zeno.models.offline.tables.profile import Note

_ROW = re.compile(r"row (\d+): ")
_LEFT_OUT = frozenset(
    {"not_a_number", "not_a_date", "missing_values", "missing_group", "ragged_rows", "undecodable_characters"}
    | {"formulas_without_value", "mixed_units", "ambiguous_dates_day_first", "ambiguous_dates_month_first"}
)
"""What makes a figure less than whole; how cells were cleaned is told in reports only."""


def of_data(plan: Plan, job: Job) -> list[str]:
    """What the table tools report, each thing once."""
    seen = {(note.code, note.column) for note in plan.profile.notes}
    later = [note for note in query_notes(job) if (note.code, note.column) not in seen]
    return _each_once(plan, [*plan.profile.notes, *later], job.language)


def left_out(plan: Plan, job: Job) -> list[str]:
    """Only what makes the figures less than whole."""
    return _each_once(plan, [note for note in query_notes(job) if note.code in _LEFT_OUT], job.language)


def _each_once(plan: Plan, notes: Sequence[Note], language: str) -> list[str]:
    excluded = {key for key, _ in plan.assumed}
    time = plan.time.name if plan.time and plan.every else None
    told_notes = (told(_of_period(note, time), language) for note in notes if note.code not in excluded)
    return list(dict.fromkeys(told_notes))


def _of_period(note: Note, time: str | None) -> Note:
    """A missing date means something else than a missing group: the row is in the whole, but in no period."""
    is_missing = note.code in ("missing_values", "missing_group") and note.column == time is not None
    return Note("no_period", note.column, note.count, note.examples) if is_missing else note


def of_plan(plan: Plan, blocks: Sequence[Block], language: str) -> list[str]:
    """What was assumed, and how the figures were cut and grouped."""
    remarks = [text(language, f"offline.assumed.{key}", **params) for key, params in plan.assumed]
    if plan.limited_to:
        remarks.append(
            text(language, "offline.remark.limited", conditions=text(language, "offline.words.semicolon").join(plan.limited_to))
        )
    remarks += _incomplete(blocks, language)
    names = {figure.name for block in blocks for figure in block.figures}
    if REST in names:
        remarks.append(text(language, "offline.remark.rest", rest=text(language, "offline.words.rest")))
    if BLANK in names:
        remarks.append(text(language, "offline.remark.blank", blank=text(language, "offline.words.blank")))
    return remarks


def told(note: Note, language: str) -> str:
    """One note of a table tool in a sentence for people."""
    key = f"offline.note.{note.code}"
    examples = text(language, "offline.words.comma").join(_example(str(example), language) for example in note.examples[:3])
    shown = text(language, "offline.remark.examples", examples=examples) if examples else ""
    if key not in catalogue(language):
        what = f"{note.code.replace('_', ' ')}{f' ({note.column})' if note.column else ''}"
        return text(language, "offline.remark.other", what=what, count=note.count, examples=shown)
    column = text(language, "offline.remark.column", column=note.column) if note.column else ""
    return figures.sentence(text(language, key, column=column, count=note.count, examples=shown), language)


def _example(example: str, language: str) -> str:
    match = _ROW.match(example)
    return text(language, "offline.remark.row", row=match[1]) + example[match.end() :] if match else example


def _incomplete(blocks: Sequence[Block], language: str) -> list[str]:
    line = next((block.line for block in blocks if block.line), None)
    if line is None:
        return []
    remarks = [text(language, "offline.remark.partial")] if line.partial else []
    if line.incomplete_start:
        remarks.append(
            text(language, "offline.remark.starts_within", period=spoken_period(line.labels[0], line.every, language))
        )
    if line.incomplete_end:
        remarks.append(
            text(language, "offline.remark.ends_within", period=spoken_period(line.labels[-1], line.every, language))
        )
    return remarks
