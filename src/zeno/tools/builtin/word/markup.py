"""WordprocessingML as text: runs, paragraphs, fields and the frame of a drawing.

Element order follows ECMA-376 part 1, section 17. Texts are escaped here, once. Nothing here knows what a report is.
"""

import re
import unicodedata
from typing import Any
from xml.sax.saxutils import escape, quoteattr

LATIN_FONT = "Calibri"
ASIAN_FONT = "Microsoft YaHei"
FONTS = f'w:ascii="{LATIN_FONT}" w:hAnsi="{LATIN_FONT}" w:eastAsia="{ASIAN_FONT}" w:cs="{LATIN_FONT}"'

_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
_SIGN = re.compile(r"(?<=[+-])(?=[¥￥$€£])")
_BREAKS = {"\n": "<w:br/>", "\t": "<w:tab/>"}


def width(text: str) -> int:
    """How wide `text` is set, in Latin letters; a Chinese character is as wide as two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def run(text: str, *, bold: bool = False, size: float | None = None) -> str:
    """A run; line breaks and tabs are kept. `size` is in points, without it that of the paragraph's style."""
    # Quotation marks and dashes belong to both scripts; the hint has Word set them from the Chinese font in Chinese text.
    hint = ' w:hint="eastAsia"' if width(text) > len(text) else ""
    looks = f"<w:rFonts {FONTS}{hint}/>" + "<w:b/>" * bold
    looks += f'<w:sz w:val="{size * 2:.0f}"/><w:szCs w:val="{size * 2:.0f}"/>' if size else ""
    # A word joiner keeps the sign and its amount on one line.
    text = _SIGN.sub("\N{WORD JOINER}", text)
    pieces = re.split(r"([\n\t])", text.replace("\r\n", "\n").replace("\r", "\n"))
    content = "".join(_BREAKS.get(piece) or f'<w:t xml:space="preserve">{escape(piece)}</w:t>' for piece in pieces if piece)
    return f"<w:r><w:rPr>{looks}</w:rPr>{content}</w:r>"


def rich(text: str, *, bold: bool = False, size: float | None = None) -> str:
    """Runs of `text`, bold between double asterisks, or throughout."""
    pieces = enumerate(_BOLD.split(text))
    return "".join(run(piece, bold=bold or index % 2 == 1, size=size) for index, piece in pieces if piece)


def paragraph(style: str, content: str) -> str:
    """A paragraph in the style with the id `style` around finished runs."""
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{content}</w:p>'


def field(instruction: str, result: str) -> str:
    """A field such as PAGE, with the result that is shown until the reader's program computes its own."""
    return f'<w:fldSimple w:instr="{instruction}">{run(result)}</w:fldSimple>'


def chart_frame(relation: str, number: int, title: str, extent: tuple[int, int]) -> str:
    """An inline drawing that shows the chart part behind `relation`; `extent` is width and height in EMU."""
    return (
        '<w:r><w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0">'
        f'<wp:extent cx="{extent[0]}" cy="{extent[1]}"/><wp:effectExtent l="0" t="0" r="0" b="0"/>'
        f'<wp:docPr id="{number}" name="Chart {number}" descr={quoteattr(title)}/><wp:cNvGraphicFramePr/>'
        f'<a:graphic xmlns:a="{_DRAWING}/main"><a:graphicData uri="{_DRAWING}/chart">'
        f'<c:chart xmlns:c="{_DRAWING}/chart" r:id="{relation}"/></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>'
    )


def parsed(markup: str) -> list[Any]:
    """The elements that `markup` stands for."""
    from docx.oxml.ns import nsdecls
    from docx.oxml.parser import parse_xml

    return list(parse_xml(f"<w:body {nsdecls('w')}>{markup}</w:body>"))
