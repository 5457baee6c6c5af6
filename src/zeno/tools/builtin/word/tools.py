"""The tool `generate_word_report`."""

import re

from zeno.core.ports import ToolContext, ToolOutput
from zeno.i18n import text
from zeno.tools.builtin.word.check import check_plot, check_report
from zeno.tools.builtin.word.content import KeyFigure, Language, Note, Plot, Report, Section
from zeno.tools.builtin.word.prepare import cleaned, plotted
from zeno.tools.function import tool
from zeno.tools.workspace import confined, file_part, replacing

_UNSAFE = re.compile(r'[\s\x00-\x1f\x7f\ud800-\udfff<>:"/\\|?*]+')
_LONGEST_STEM = 50


@tool(effect="write", repeatable=True, timeout=60)
def generate_word_report(
    title: str,
    sections: tuple[Section, ...],
    ctx: ToolContext,
    file_name: str = "report",
    subtitle: str | None = None,
    headline: str | None = None,
    key_figures: tuple[KeyFigure, ...] = (),
    notes: tuple[str, ...] = (),
    language: Language | None = None,
) -> ToolOutput:
    """Writes a finished Word report (.docx) with native, editable charts, tables, key figures and data notes.

    Use it as the last step of a report, when all figures are known: pass figures that tools have computed, never guesses. Put
    the conclusion into the headline, what stands out into bullets, and what was cleaned or left out into the notes. Months and
    other periods are put in calendar order; values such as "1,200", "12%" or "¥3,400.5" are read as numbers.

    Args:
        title: Title of the report.
        sections: The sections in reading order, each with text, a chart, a table or bullets; at most 20 charts in all.
        ctx: Where the call happens.
        file_name: Name of the file without folder or ending; an id is added to it.
        subtitle: Line under the title, such as the period covered and the source.
        headline: The conclusion in one or two sentences, with the decisive figure; highlighted at the top.
        key_figures: Up to twelve figures, shown as cards under the headline.
        notes: How the data was read: what was cleaned, left out or assumed; printed small at the end.
        language: Language of the report, that of its text; without it the language of the conversation.
    """
    written_in: Language = "zh-CN" if (language or ctx.language).lower().startswith("zh") else "en-US"
    report, changes = cleaned(
        Report(
            title=title,
            sections=sections,
            language=written_in,
            subtitle=subtitle,
            headline=headline,
            key_figures=key_figures,
            notes=notes,
        )
    )
    check_report(report)
    plots: list[Plot | None] = []
    for section in report.sections:
        plot, remarks = plotted(section.chart) if section.chart else (None, [])
        plots.append(plot)
        changes += remarks
    return _write(report, plots, changes, file_name, ctx)


def _write(report: Report, plots: list[Plot | None], changes: list[Note], file_name: str, ctx: ToolContext) -> ToolOutput:
    from zeno.tools.builtin.word.document import packed

    drawn = [plot for plot in plots if plot]
    for plot in drawn:
        check_plot(plot)
    target = confined(ctx.workspace, f"{_stem(file_name)}-{ctx.run_id[:8]}.docx")
    package = packed(report, plots, changes)
    replaced = target.is_file() and target.read_bytes() != package
    with replacing(target) as draft:
        draft.write_bytes(package)
    file = file_part(ctx.workspace, target)
    remarks = " It takes the place of another report of that name." if replaced else ""
    remarks += "".join(" " + text("en-US", f"report.note.{note.code}", **note.params) for note in changes)
    points = sum(plot.points for plot in drawn)
    counts = f"charts: {len(drawn)}, data points: {points:,}"
    return ToolOutput(text=f"Wrote the Word report {file.path} ({file.size:,} bytes; {counts}).{remarks}", files=(file,))


def _stem(file_name: str) -> str:
    """`file_name` as the harmless first part of a file's name, short enough for any file system."""
    stem = _UNSAFE.sub("-", file_name.strip().removesuffix(".docx")).strip(" .-")
    return stem[:_LONGEST_STEM].rstrip(" .-") or "report"
