"""The document: everything a report says, in the order in which it is read, as a Word package.

Reads the words around the content (captions, notes, page numbers) from the catalogue; knows neither workspace nor model.
"""

import io
import zipfile
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from zeno.i18n import text
from zeno.tools.builtin.word.chart import EXTENT, attach
from zeno.tools.builtin.word.content import Note, Plot, Report
from zeno.tools.builtin.word.markup import chart_frame, field, paragraph, parsed, rich, run
from zeno.tools.builtin.word.style import dress, style_id
from zeno.tools.builtin.word.table import cards, data_table

_LEFT_OUT = ("thumbnail", "extended-properties", "customXml", "stylesWithEffects")
"""Parts of the library's template that would tell untruths about this document, by the end of their relation's type."""


def packed(report: Report, plots: Sequence[Plot | None], notes: Sequence[Note]) -> bytes:
    """The finished .docx file. `plots` holds the chart of each section; the same arguments give the same bytes."""
    from docx import Document

    document = Document()
    _drop_template_parts(document)
    dress(document)
    _set_properties(document, report)
    _set_margins(document.sections[0], report)
    body = "".join((*_opening(report), *_sections(document, report, plots), *_notes(report, notes)))
    file = io.BytesIO()
    document.save(file)
    return _completed(file.getvalue(), body)


def _opening(report: Report) -> Iterator[str]:
    yield paragraph("Title", rich(report.title))
    if report.subtitle:
        yield paragraph("Subtitle", rich(report.subtitle))
    if report.headline:
        yield paragraph("Headline", rich(report.headline))
    if report.key_figures:
        yield cards(report.key_figures)


def _sections(document: Any, report: Report, plots: Sequence[Plot | None]) -> Iterator[str]:
    figures, tables = count(1), count(1)
    for section, plot in zip(report.sections, plots, strict=True):
        yield paragraph("Heading1", rich(section.heading))
        for written in section.paragraphs:
            yield from (paragraph("Normal", rich(line)) for line in written.splitlines() if line.strip())
        if plot:
            yield _figure(document, plot, next(figures), report.language)
        if section.table:
            if section.table.caption:
                yield _caption("Table Caption", "table", next(tables), section.table.caption, report.language)
            yield data_table(section.table)
        yield from (paragraph("ListBullet", rich(bullet)) for bullet in section.bullets if bullet.strip())


def _figure(document: Any, plot: Plot, number: int, language: str) -> str:
    relation = attach(document, plot, number, language)
    about = plot.title
    if len(plot.categories) > 1 and plot.kind == "line":
        about = text(language, "report.figure.span", first=plot.categories[0], last=plot.categories[-1], title=plot.title)
    return paragraph("Figure", chart_frame(relation, number, plot.title, EXTENT)) + _caption(
        "Caption", "figure", number, about, language
    )


def _caption(style: str, kind: str, number: int, about: str, language: str) -> str:
    sequence = field(f"SEQ {kind.title()} \\* ARABIC", str(number))
    return paragraph(style_id(style), run(text(language, f"report.caption.{kind}")) + sequence + run("  ") + rich(about))


def _notes(report: Report, notes: Sequence[Note]) -> Iterator[str]:
    sentences = [note for note in report.notes if note.strip()]
    sentences += [text(report.language, f"report.note.{note.code}", **note.params) for note in notes]
    if sentences:
        yield paragraph(style_id("Notes Heading"), run(text(report.language, "report.notes.heading")))
        yield from (paragraph("Note", rich(sentence)) for sentence in sentences)


def _set_margins(section: Any, report: Report) -> None:
    """Title above every page but the first, which has it in large; page numbers below every page."""
    _fill(section.header, rich(report.title))
    words = text(report.language, "report.footer.pages", page="|PAGE|", pages="|NUMPAGES|").split("|")
    content = "".join(field(word, "1") if index % 2 else run(word) for index, word in enumerate(words) if word)
    for footer in (section.footer, section.first_page_footer):
        _fill(footer, content)


def _fill(margin: Any, content: str) -> None:
    for element in parsed(content):
        margin.paragraphs[0]._p.append(element)


def _drop_template_parts(document: Any) -> None:
    for owner in (document.part.package, document.part):
        for identifier, relation in list(owner.rels.items()):
            if relation.reltype.endswith(_LEFT_OUT):
                del owner.rels[identifier]


def _set_properties(document: Any, report: Report) -> None:
    """Title, author and language; no dates, as there is no clock here to tell them."""
    properties = document.core_properties
    for known in list(properties._element):
        properties._element.remove(known)
    properties.title, properties.author, properties.language = report.title, "Zeno", report.language


def _completed(shell: bytes, body: str) -> bytes:
    """The package `shell` with `body` in its document and without the time of its making.

    The body goes in as text: moving a table of thousands of rows from tree to tree takes minutes. Zip entries carry the
    earliest date that the format can hold.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(shell)) as made, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as undated:
        for name in made.namelist():
            content = made.read(name)
            if name == "word/document.xml":
                content = content.replace(b"<w:body>", b"<w:body>" + body.encode("utf-8"), 1)
            undated.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()
