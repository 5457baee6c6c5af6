"""The next step of a table job: read the file, look values up, query, write the report, answer.

Stateless: where the job stands is derived from the calls made for it and their results.
"""

from dataclasses import dataclass
from typing import Any

from zeno.i18n import text
from zeno.models.embedding import BundledEmbedder
from zeno.models.offline.conversation import Exchange, Job
from zeno.models.offline.errands import Unclear
from zeno.models.offline.tables import answer, figures, findings, opening, queries, reading, report
from zeno.models.offline.tables.narrative import Narrative
from zeno.models.offline.tables.plan import Plan
from zeno.models.offline.tables.profile import Profile, rows_of

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class TableStep:
    """Calls to make, or the text to end with; `thinking` says what was understood."""

    calls: tuple[Call, ...] = ()
    thinking: str = ""
    text: str = ""


def next_step(job: Job, tools: frozenset[str], embedder: BundledEmbedder) -> TableStep:
    """What comes next. Without tools, the answer from what is known so far. Raises `Unclear` to ask the user."""
    path = opening.table_path(job)
    reads = opening.next_reads(job, path)
    if reads and "read_table" in tools:
        return _calling("read_table", reads, text(job.language, "offline.thinking.read", path=path))
    profile = opening.read_profile(job, path)
    if profile is None:
        return TableStep(text=_unread(job, path, tools))
    if not any(column.type != "empty" for column in profile.columns) or profile.rows == 0:
        raise Unclear(text(job.language, "offline.ask.empty_table", path=path))
    return _queried(job, profile, tools, embedder)


def _queried(job: Job, profile: Profile, tools: frozenset[str], embedder: BundledEmbedder) -> TableStep:
    values = _values(job, profile)
    lookups = [queries.values(profile.path, profile.sheet, column) for column in reading.may_need_values(job, profile, values)]
    missing = [query for query in lookups if job.find("query_table", query) is None]
    if missing and "query_table" in tools:
        return _calling("query_table", missing, text(job.language, "offline.thinking.values"))
    plan = reading.plan_of(job, profile, values, embedder)
    needed = (findings.needed if plan.report else answer.needed)(plan, job)
    if needed and "query_table" in tools:
        return _calling("query_table", needed, _understood(plan, job.language))
    failed = [e for e in job.exchanges if e.name == "query_table" and not e.done]
    blocks = findings.blocks(plan, job)
    if failed and blocks[0].overall is None and not blocks[0].figures and not plan.overview:
        return TableStep(text=text(job.language, "offline.answer.failed", tool="query_table", reason=failed[-1].conclusion))
    if needed and blocks[0].overall is None:
        unfinished = text(job.language, "offline.answer.not_computed")
        return TableStep(text=f"{unfinished}\n\n{answer.overview(profile, job.language)}")
    if blocks[0].overall is None and not plan.overview:
        return TableStep(text=_nothing_found(plan, blocks[0], job.language))
    if not plan.report:
        return TableStep(text=answer.told(plan, blocks, job))
    return _reported(plan, blocks, job, tools)


def _reported(plan: Plan, blocks: list[findings.Block], job: Job, tools: frozenset[str]) -> TableStep:
    main = Narrative(blocks[0], job.language)
    arguments = report.arguments(plan, blocks, job)
    written = next((e for e in reversed(job.exchanges) if e.name == "generate_word_report"), None)
    if written is None and "generate_word_report" in tools:
        return _calling(
            "generate_word_report", [arguments], text(job.language, "offline.thinking.report", headline=main.headline())
        )
    bullets = [f"- {sentence}" for sentence in main.stands_out()]
    notes = (
        [text(job.language, "offline.answer.notes"), *(f"- {note}" for note in arguments["notes"])]
        if arguments["notes"]
        else []
    )
    body = [main.headline(), "\n".join(bullets), _written(written, job), "\n".join(notes)]
    return TableStep(text="\n\n".join(part for part in body if part))


def _written(written: Exchange | None, job: Job) -> str:
    if written is None:
        return text(job.language, "offline.answer.no_tool", tool="generate_word_report")
    if not written.done:
        return text(
            job.language, f"offline.answer.{written.result.outcome}", tool="generate_word_report", reason=written.conclusion
        )
    files = text(job.language, "offline.words.comma").join(f"{part.path}" for part in written.result.files)
    return text(job.language, "offline.answer.report", files=files or written.conclusion)


def _calling(tool: str, arguments: list[dict[str, Any]], thinking: str) -> TableStep:
    return TableStep(calls=tuple((tool, each) for each in arguments), thinking=thinking)


def _unread(job: Job, path: str, tools: frozenset[str]) -> str:
    """Why there is no profile: nothing was read yet, or the result has no supplement that can be read."""
    read = next((e for e in job.exchanges if e.name == "read_table" and e.arguments.get("path") == path), None)
    if read is not None:
        return read.conclusion
    return text(job.language, "offline.answer.no_tool" if tools else "offline.answer.no_steps_left", tool="read_table")


def _values(job: Job, profile: Profile) -> dict[str, list[str]]:
    """What is known to occur in the text columns: the profile's examples, and what was looked up."""
    known = {column.name: [str(value) for value in column.examples] for column in profile.of_type("text", "boolean")}
    for column in profile.of_type("text"):
        exchange = job.find("query_table", queries.values(profile.path, profile.sheet, column))
        rows = rows_of(exchange.data) if exchange and exchange.done else None
        if rows:
            known[column.name] = [str(row[0]) for row in rows.rows if row[0] is not None]
    return known


def _understood(plan: Plan, language: str) -> str:
    measures = text(language, "offline.words.comma").join(figures.label(measure, language) for measure in plan.measures)
    parts = [text(language, "offline.thinking.measures", measures=measures)]
    if plan.groups:
        names = text(language, "offline.words.comma").join(group.name for group in plan.groups)
        parts.append(text(language, "offline.thinking.groups", groups=names))
    if plan.every and plan.time:
        grain = text(language, f"offline.grain.{plan.every}")
        parts.append(text(language, "offline.thinking.periods", grain=grain, column=plan.time.name))
    if plan.limited_to:
        conditions = text(language, "offline.words.semicolon").join(plan.limited_to)
        parts.append(text(language, "offline.thinking.limited", conditions=conditions))
    return text(language, "offline.words.semicolon").join(parts)


def _nothing_found(plan: Plan, block: findings.Block, language: str) -> str:
    label = figures.label(block.measure, language)
    if not plan.limited_to:
        return text(language, "offline.answer.nothing", label=label)
    conditions = text(language, "offline.words.semicolon").join(plan.limited_to)
    days = plan.days
    covered = text(language, "offline.answer.covered", first=str(days[0]), last=str(days[1])) if days else ""
    return text(language, "offline.answer.nothing_left", label=label, conditions=conditions) + covered
