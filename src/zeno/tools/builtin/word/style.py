"""Page, styles and fonts of the report. Knows the look of each kind of paragraph, not what is written in it."""

from typing import Any, NamedTuple

from zeno.tools.builtin.word.markup import FONTS, parsed
from zeno.tools.builtin.word.palette import ACCENT, FALL, INK, MUTED, PAPER, RISE, TINT

TEXT_WIDTH = 9638
"""Width between the margins of the A4 page, in twentieths of a point: 21 cm less 2 cm on either side."""


class Look(NamedTuple):
    """A paragraph style: sizes and distances in points, `line` as a multiple of the font's own line height."""

    name: str
    size: float
    color: str = INK
    bold: bool = False
    before: float = 0
    after: float = 0
    line: float = 1.0
    keep_next: bool = False
    align: str = "LEFT"
    base: str = "Normal"


LOOKS = (
    Look("Normal", 10.5, after=6, line=1.2),
    Look("Title", 24, ACCENT, bold=True, after=2),
    Look("Subtitle", 11, MUTED, after=10),
    Look("Headline", 13, ACCENT, bold=True, before=4, after=12, line=1.2),
    Look("Heading 1", 15, ACCENT, bold=True, before=18, after=6, keep_next=True),
    Look("List Bullet", 10.5, after=4, line=1.2),
    Look("Caption", 9, MUTED, before=2, after=8),
    Look("Table Caption", 9, MUTED, bold=True, before=8, after=4, keep_next=True),
    Look("Figure", 10.5, before=6, keep_next=True),
    Look("Table Heading", 9, PAPER, bold=True, before=2, after=2, keep_next=True),
    Look("Table Heading Number", 9, PAPER, bold=True, before=2, after=2, keep_next=True, align="RIGHT"),
    Look("Table Text", 9, before=1.5, after=1.5),
    Look("Table Text Number", 9, before=1.5, after=1.5, align="RIGHT"),
    Look("Card Label", 9, MUTED, before=5, after=1, keep_next=True),
    Look("Card Value", 16, ACCENT, bold=True, after=1, keep_next=True),
    Look("Card Up", 9, RISE, bold=True, after=5),
    Look("Card Down", 9, FALL, bold=True, after=5),
    Look("Card Flat", 9, MUTED, bold=True, after=5),
    Look("Gap", 4, after=2),
    Look("Notes Heading", 10, MUTED, bold=True, before=18, after=3, keep_next=True),
    Look("Note", 8.5, MUTED, after=2, base="List Bullet"),
    Look("Header", 8.5, MUTED),
    Look("Footer", 8.5, MUTED, align="CENTER"),
)


def style_id(name: str) -> str:
    """The id under which markup refers to the style called `name`."""
    return name.replace(" ", "")


def dress(document: Any) -> None:
    """Give the document an A4 page and the styles of `LOOKS`, and drop the styles that a report does not use."""
    _set_page(document.sections[0])
    _drop_table_styles(document.styles)
    for look in LOOKS:
        _set_style(document.styles, look)
    _frame_headline(document.styles["Headline"])
    _set_fonts(document.styles.element)
    _set_settings(document.settings.element)


def _set_page(section: Any) -> None:
    from docx.shared import Cm

    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2)
    section.top_margin, section.bottom_margin = Cm(2.2), Cm(2)
    section.header_distance = section.footer_distance = Cm(1)
    section.different_first_page_header_footer = True


def _drop_table_styles(styles: Any) -> None:
    from docx.enum.style import WD_STYLE_TYPE

    for style in list(styles):
        if style.type == WD_STYLE_TYPE.TABLE and style.name not in ("Normal Table", "Table Grid"):
            style.delete()


def _set_style(styles: Any, look: Look) -> None:
    from docx.enum.style import WD_STYLE_TYPE
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt, RGBColor

    known = look.name in styles
    style = styles[look.name] if known else styles.add_style(look.name, WD_STYLE_TYPE.PARAGRAPH)
    if not known:
        style.base_style = styles[look.base]
        style.quick_style = True
    _unlink(style.element)
    # The template brings borders, letter spacing and theme colours of its own.
    for tag in ("w:pBdr", "w:spacing", "w:contextualSpacing"):
        for inherited in style.element.xpath(f".//{tag}"):
            inherited.getparent().remove(inherited)
    style.font.size, style.font.bold, style.font.italic = Pt(look.size), look.bold, False
    style.font.color.rgb = RGBColor.from_string(look.color)
    layout = style.paragraph_format
    layout.space_before, layout.space_after, layout.line_spacing = Pt(look.before), Pt(look.after), look.line
    layout.keep_with_next, layout.widow_control = look.keep_next, True
    layout.alignment = getattr(WD_ALIGN_PARAGRAPH, look.align)


def _unlink(style: Any) -> None:
    """Drop the character style that goes with a paragraph style: it has the look of the template, and some viewers mix both."""
    styles = style.getparent()
    for name in style.xpath("w:link/@w:val"):
        for linked in styles.xpath(f"w:style[@w:styleId='{name}']"):
            styles.remove(linked)
    for link in style.xpath("w:link"):
        style.remove(link)


def _frame_headline(style: Any) -> None:
    """A bar at the left and a tinted ground: the conclusion is what the eye meets first."""
    from docx.shared import Cm

    properties = style.element.get_or_add_pPr()
    (frame,) = parsed(
        f'<w:pBdr><w:top w:val="single" w:sz="4" w:space="6" w:color="{TINT}"/>'
        f'<w:left w:val="single" w:sz="36" w:space="8" w:color="{ACCENT}"/>'
        f'<w:bottom w:val="single" w:sz="4" w:space="6" w:color="{TINT}"/></w:pBdr>'
    )
    (ground,) = parsed(f'<w:shd w:val="clear" w:color="auto" w:fill="{TINT}"/>')
    properties.insert_element_before(frame, "w:shd", "w:spacing", "w:ind", "w:jc")
    properties.insert_element_before(ground, "w:spacing", "w:ind", "w:jc")
    style.paragraph_format.left_indent = Cm(0.4)


def _set_fonts(styles: Any) -> None:
    """Name the fonts for both scripts in every style and as the default; theme fonts would win over names, so they go."""
    for style in styles.xpath("w:style[@w:type='paragraph' or @w:type='character']"):
        for fonts in style.xpath("w:rPr/w:rFonts"):
            fonts.getparent().remove(fonts)
        style.get_or_add_rPr().insert(0, *parsed(f"<w:rFonts {FONTS}/>"))
    (defaults,) = styles.xpath("w:docDefaults/w:rPrDefault/w:rPr")
    for known in defaults.xpath("w:rFonts | w:lang"):
        defaults.remove(known)
    fonts, language = parsed(f'<w:rFonts {FONTS}/><w:lang w:val="en-US" w:eastAsia="zh-CN" w:bidi="ar-SA"/>')
    defaults.insert(0, fonts)
    defaults.append(language)


def _set_settings(settings: Any) -> None:
    """Word's current layout rules instead of the compatibility mode of the template, and Chinese as its Asian language."""
    from docx.oxml.ns import qn

    for entry in settings.xpath(".//w:compatSetting[@w:name='compatibilityMode']"):
        entry.set(qn("w:val"), "15")
    for entry in settings.xpath("w:themeFontLang"):
        entry.set(qn("w:eastAsia"), "zh-CN")
