"""Which file and which sheet a table job is about, and what reading them brought."""

import re
from typing import Any

from zeno.i18n import text
from zeno.models.offline.conversation import Exchange, Job
from zeno.models.offline.errands import Unclear, file_question
from zeno.models.offline.sentence import is_table, paths
from zeno.models.offline.tables.profile import Profile, profile_of

_MOST_SHEETS = 6
_SHEET = re.compile(
    r"(?:sheet|worksheet|tab)\s+(?:named\s+|called\s+)?[\"“'「]?([\w -]+?)[\"”'」]?"
    r"(?=\s*(?:$|[,.;]|\bof\b|\bin\b|\bfrom\b|\bby\b))"
    r"|工作表[:：\"“「]?\s*([\w-]+)",
    re.IGNORECASE,
)


def table_path(job: Job) -> str:
    """The table the job is about: named, attached, or the one used last. Raises `Unclear` when there are several or none."""
    for said in (*reversed(job.answers), job.text):
        named = [path for path in paths(said, job.files) if is_table(path)]
        if named:
            return named[0]
    attached = [path for path in job.attached if is_table(path)]
    if len(attached) == 1:
        return attached[0]
    used = [str(e.arguments.get("path", "")) for e in reversed(job.past) if e.name in ("read_table", "query_table") and e.done]
    if used and not attached:
        return used[0]
    known = [path for path in job.files if is_table(path)]
    if len(known) == 1:
        return known[0]
    raise Unclear(file_question(job))


def next_reads(job: Job, path: str) -> list[dict[str, Any]]:
    """The arguments of the `read_table` calls still to make, none when the table is known.

    A workbook often opens on a cover sheet; when what was read holds nothing to compute, the other sheets are read too. Raises
    `Unclear` when the file cannot be used.
    """
    done = _reads(job, path)
    if not done:
        sheet = _named_sheet(job)
        return [{"path": path} | ({"sheet": sheet} if sheet else {})]
    profiles = _profiles(done)
    if not profiles and not done[-1].done:
        sheet = job.answers[-1].strip() if job.answers and done[-1].arguments.get("sheet") else None
        again = {"path": path, "sheet": sheet}
        if sheet and all(read.arguments != again for read in done):
            return [again]
        raise Unclear(_unreadable(job, path, done[-1]))
    if not profiles or any(read.arguments.get("sheet") for read in done):
        return []
    others = [sheet for sheet in profiles[0].sheets if sheet != profiles[0].sheet]
    wanted = [sheet for sheet in others if sheet.lower() in job.said.lower()]
    if not wanted and not _computable(profiles[0]):
        wanted = others
    return [{"path": path, "sheet": sheet} for sheet in wanted[:_MOST_SHEETS]]


def read_profile(job: Job, path: str) -> Profile | None:
    """The profile to work with: of the sheet asked for, else of the greatest one that holds figures."""
    profiles = _profiles(_reads(job, path))
    named = [profile for profile in profiles if profile.sheet and profile.sheet.lower() in job.said.lower()]
    computable = [profile for profile in profiles if _computable(profile)]
    return max(named or computable or profiles, key=lambda profile: profile.rows, default=None)


def _reads(job: Job, path: str) -> list[Exchange]:
    return [e for e in job.exchanges if e.name == "read_table" and e.arguments.get("path") == path]


def _profiles(reads: list[Exchange]) -> list[Profile]:
    return [profile for read in reads if read.done and (profile := profile_of(read.data))]


def _computable(profile: Profile) -> bool:
    return profile.rows > 1 and bool(profile.of_type("number"))


def _named_sheet(job: Job) -> str | None:
    match = next((m for said in (*reversed(job.answers), job.text) if (m := _SHEET.search(said))), None)
    return (match[1] or match[2]).strip() if match else None


def _unreadable(job: Job, path: str, read: Exchange) -> str:
    others = [file for file in job.files if file != path]
    comma = text(job.language, "offline.words.comma")
    there = text(job.language, "offline.ask.files_there", files=comma.join(others)) if others else ""
    if path not in job.files and "no file" in read.conclusion.lower():
        return text(job.language, "offline.ask.file_missing", path=path, files=there)
    return text(job.language, "offline.ask.file_unreadable", path=path, reason=read.conclusion, files=there)
