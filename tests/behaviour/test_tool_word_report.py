import asyncio
import io
import posixpath
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest
from docx.oxml.ns import qn
from lxml import etree

from tests.office import pages_of, pdf_of, text_of
from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext, ToolOutput
from zeno.tools.builtin.word.tools import generate_word_report

C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
WEEKS = [f"2026-{day}" for day in ("08-31", "09-07", "09-14", "09-21", "09-28", "10-05", "10-12", "10-19", "10-26", "11-02")]

# The order of children in ECMA-376 part 1, section 21.2 (dml-chart.xsd); Word refuses a chart that breaks it.
ORDER = {
    "chartSpace": "date1904 lang roundedCorners style clrMapOvr chart spPr txPr externalData printSettings userShapes",
    "chart": "title autoTitleDeleted plotArea legend plotVisOnly dispBlanksAs showDLblsOverMax",
    "plotArea": "layout lineChart barChart pieChart catAx valAx spPr",
    "lineChart": "grouping varyColors ser dLbls dropLines hiLowLines upDownBars marker smooth axId",
    "barChart": "barDir grouping varyColors ser dLbls gapWidth overlap serLines axId",
    "pieChart": "varyColors ser dLbls firstSliceAng",
    "ser": "idx order tx spPr invertIfNegative marker explosion dPt dLbls trendline errBars cat val smooth",
    "dLbls": "dLbl delete numFmt spPr txPr dLblPos showLegendKey showVal showCatName showSerName showPercent showBubbleSize "
    "separator showLeaderLines",
    "catAx": "axId scaling delete axPos majorGridlines title numFmt majorTickMark minorTickMark tickLblPos spPr txPr crossAx "
    "crosses auto lblAlgn lblOffset tickLblSkip tickMarkSkip noMultiLvlLbl",
    "valAx": "axId scaling delete axPos majorGridlines title numFmt majorTickMark minorTickMark tickLblPos spPr txPr crossAx "
    "crosses crossBetween majorUnit minorUnit",
}


def call(workspace: Path, language: str = "en-US", **arguments: Any) -> ToolOutput:
    ctx = ToolContext(run_id="abcd1234efgh", call_id="c1", workspace=workspace, language=language)
    return asyncio.run(generate_word_report.call({"title": "Sales", **arguments}, ctx))


def chart(kind: str = "line", categories: list[str] | None = None, **series: list[Any]) -> dict[str, Any]:
    lines = [{"name": name, "values": values} for name, values in (series or {"Shop": [1, 2, 3]}).items()]
    return {"kind": kind, "title": "Sales by week", "categories": categories or ["a", "b", "c"], "series": lines}


def section(**content: Any) -> list[dict[str, Any]]:
    return [{"heading": "Overview", **content}]


def package(workspace: Path, output: ToolOutput) -> zipfile.ZipFile:
    return zipfile.ZipFile(workspace / output.files[0].path)


def drawn(workspace: Path, output: ToolOutput, number: int = 1) -> Any:
    return etree.fromstring(package(workspace, output).read(f"word/charts/chart{number}.xml"))


def sheet(workspace: Path, output: ToolOutput, number: int = 1) -> list[tuple[Any, ...]]:
    blob = package(workspace, output).read(f"word/embeddings/Microsoft_Excel_Sheet{number}.xlsx")
    return list(openpyxl.load_workbook(io.BytesIO(blob)).worksheets[0].iter_rows(values_only=True))


def cached(space: Any, tag: str) -> list[list[str | None]]:
    """What the chart itself shows: per series one text per point, `None` where there is a gap."""
    rows = []
    for source in space.iter(C + tag):
        size = int(source.find(f".//{C}ptCount").get("val"))
        points = {int(point.get("idx")): point.findtext(C + "v") for point in source.iter(C + "pt")}
        rows.append([points.get(index) for index in range(size)])
    return rows


def words(workspace: Path, output: ToolOutput) -> str:
    body = docx.Document(str(workspace / output.files[0].path)).element.body
    return "\n".join("".join(node.text or "" for node in each.iter(qn("w:t"))) for each in body.iter(qn("w:p")))


def refusal(workspace: Path, **arguments: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as failed:
        call(workspace, **arguments)
    assert list(workspace.iterdir()) == []
    return failed.value


@pytest.mark.parametrize("kind", ["line", "bar", "pie"])
def test_the_workbook_behind_a_chart_holds_the_numbers_that_the_chart_shows(tmp_path: Path, kind: str) -> None:
    output = call(tmp_path, sections=section(chart=chart(kind, Shop=[1200.5, 0, 34])))
    space = drawn(tmp_path, output)
    assert sheet(tmp_path, output) == [(None, "Shop"), ("a", 1200.5), ("b", 0), ("c", 34)]
    assert cached(space, "cat") == [["a", "b", "c"]]
    assert [[float(value or "nan") for value in row] for row in cached(space, "val")] == [[1200.5, 0, 34]]
    assert [f.text for f in space.iter(C + "f")] == ["Sheet1!$B$1", "Sheet1!$A$2:$A$4", "Sheet1!$B$2:$B$4"]


@pytest.mark.parametrize("kind", ["line", "bar", "pie"])
def test_the_elements_of_a_chart_stand_in_the_order_of_the_schema(tmp_path: Path, kind: str) -> None:
    long = [f"A rather long label {number}" for number in range(24)]
    space = drawn(tmp_path, call(tmp_path, sections=section(chart=chart(kind, long, Shop=list(range(24))))))
    for element in space.iter():
        order = ORDER.get(etree.QName(element).localname, "").split()
        if (
            order
            and element.tag.startswith(C)
            and not (element.getparent() is not None and element.getparent().tag == C + "ser")
        ):
            places = [order.index(etree.QName(child).localname) for child in element]
            assert places == sorted(places), element.tag
    assert space.find(f"{C}chart/{C}title") is not None


def test_every_relation_in_the_package_leads_to_a_part_that_is_there(tmp_path: Path) -> None:
    output = call(tmp_path, sections=section(chart=chart()) + section(chart=chart("bar")))
    made = package(tmp_path, output)
    for name in (name for name in made.namelist() if name.endswith(".rels")):
        folder = posixpath.dirname(posixpath.dirname(name))
        for relation in etree.fromstring(made.read(name)):
            target = relation.get("Target")
            assert posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/") in made.namelist(), (name, target)
    for number in (1, 2):
        relations = etree.fromstring(made.read(f"word/charts/_rels/chart{number}.xml.rels"))
        data = drawn(tmp_path, output, number).find(C + "externalData")
        linked = {relation.get("Id"): relation.get("Target") for relation in relations}
        assert linked[data.get(qn("r:id"))].endswith(f"Microsoft_Excel_Sheet{number}.xlsx")
    frames = list(docx.Document(str(tmp_path / output.files[0].path)).element.body.iter(qn("wp:docPr")))
    assert [frame.get("id") for frame in frames] == ["1", "2"]


def test_several_series_are_drawn_with_a_legend_and_a_gap_where_a_value_is_missing(tmp_path: Path) -> None:
    output = call(tmp_path, sections=section(chart=chart(Shop=[1, None, 3], Web=[4, 5, 6])))
    space = drawn(tmp_path, output)
    assert space.find(f"{C}chart/{C}legend/{C}legendPos").get("val") == "b"
    assert space.find(f"{C}chart/{C}dispBlanksAs").get("val") == "gap"
    assert cached(space, "val") == [["1.0", None, "3.0"], ["4.0", "5.0", "6.0"]]
    assert sheet(tmp_path, output)[2] == ("b", None, 5)
    assert "data points: 5" in output.text
    assert "missing and shown as gaps: 1" in words(tmp_path, output)


def test_axes_show_thousands_separators_and_the_unit(tmp_path: Path) -> None:
    money = {**chart(Shop=[1200.5, 3400, 5000]), "unit": "￥"}
    space = drawn(tmp_path, call(tmp_path, sections=section(chart=money)))
    assert space.find(f".//{C}valAx/{C}numFmt").get("formatCode") == '"¥"#,##0'


def test_labels_that_would_overlap_are_slanted_and_thinned_out(tmp_path: Path) -> None:
    def axis(count: int) -> Any:
        labels = [f"2026-W{number:02}" for number in range(count)]
        output = call(tmp_path, sections=section(chart=chart("line", labels, Shop=list(range(count)))))
        return drawn(tmp_path, output).find(f".//{C}catAx")

    assert axis(6).find(f"{C}txPr/{A}bodyPr").get("rot") is None
    assert axis(13).find(f"{C}txPr/{A}bodyPr").get("rot") == "-2700000"
    assert axis(13).find(C + "tickLblSkip").get("val") == "1"
    assert axis(52).find(C + "tickLblSkip").get("val") == "2"


def test_pies_show_shares_in_percent(tmp_path: Path) -> None:
    space = drawn(tmp_path, call(tmp_path, sections=section(chart=chart("pie"))))
    assert space.find(f".//{C}dLbls/{C}showPercent").get("val") == "1"
    assert len({fill.get("val") for fill in space.findall(f".//{C}dPt//{A}solidFill/{A}srgbClr")} - {"FFFFFF"}) == 3


def test_values_written_as_text_are_read_and_the_report_says_how_many(tmp_path: Path) -> None:
    dirty = ["1,200", "￥3,400.5", "—", None, "(300)", "１２万"]
    output = call(tmp_path, language="zh-CN", sections=section(chart=chart("line", list("abcdef"), 门店=dirty)))
    assert [row[1] for row in sheet(tmp_path, output)[1:]] == [1200, 3400.5, None, None, -300, 120000]
    assert "4 个以文字书写的数值已按数字读取" in words(tmp_path, output)
    assert "2 个数值缺失" in words(tmp_path, output)
    assert "read as numbers: 4" in output.text


def test_percentages_keep_their_scale_and_lend_the_axis_their_sign(tmp_path: Path) -> None:
    output = call(tmp_path, sections=section(chart=chart(Share=["12%", "30%", "58 %"])))
    assert [row[1] for row in sheet(tmp_path, output)[1:]] == [12, 30, 58]
    assert drawn(tmp_path, output).find(f".//{C}valAx/{C}numFmt").get("formatCode") == '#,##0"%"'


def test_a_value_that_is_no_number_is_refused_with_its_place(tmp_path: Path) -> None:
    failed = refusal(tmp_path, sections=section(chart=chart(Shop=[1, "1,20", 3])))
    for part in ("Sales by week", "Shop", "'b'", "'1,20'"):
        assert part in failed.message


@pytest.mark.parametrize(
    ("given", "ordered", "values"),
    [
        (["3月", "1月", "2026-02", "Feb 2026"], ["1月", "2026-02", "Feb 2026", "3月"], [2, 3, 4, 1]),
        (["2026年3月", "2025年12月", "2026年1月"], ["2025年12月", "2026年1月", "2026年3月"], [2, 3, 1]),
        (["Mar", "Jan", "Sept"], ["Jan", "Mar", "Sept"], [2, 1, 3]),
        (["Q2 2026", "2026-Q1"], ["2026-Q1", "Q2 2026"], [2, 1]),
        (["11月", "12月", "1月"], ["11月", "12月", "1月"], [1, 2, 3]),
        (["March", "Marketing", "January"], ["March", "Marketing", "January"], [1, 2, 3]),
        (["13月", "1月"], ["13月", "1月"], [1, 2]),
    ],
)
def test_months_come_in_calendar_order_with_their_values_and_others_stay(
    tmp_path: Path, given: list[str], ordered: list[str], values: list[int]
) -> None:
    output = call(tmp_path, sections=section(chart=chart("bar", given, Shop=list(range(1, len(given) + 1)))))
    assert sheet(tmp_path, output)[1:] == list(zip(ordered, values, strict=True))
    assert ("calendar order" in words(tmp_path, output)) == (given != ordered)


def test_characters_that_no_document_can_hold_are_removed_and_counted(tmp_path: Path) -> None:
    output = call(
        tmp_path,
        title="Sa\x00les\ud800",
        sections=section(
            paragraphs=["one\x0b\uffff two <b>&"], chart=chart("bar", ["a\x1f", "b", "c"], **{"S\ufffehop": [1, 2, 3]})
        ),
    )
    assert "removed: 6" in output.text
    assert "one two <b>&" in words(tmp_path, output)
    assert "removed: 6" in words(tmp_path, output)
    assert sheet(tmp_path, output)[:2] == [(None, "Shop"), ("a", 1)]


def test_labels_that_look_like_formulas_stay_labels(tmp_path: Path) -> None:
    output = call(
        tmp_path, sections=section(chart=chart("bar", ["=1+1", "http://x.test", "{0}"], **{"=cmd|' /c'!A0": [1, 2, 3]}))
    )
    assert [row[0] for row in sheet(tmp_path, output)] == [None, "=1+1", "http://x.test", "{0}"]
    blob = package(tmp_path, output).read("word/embeddings/Microsoft_Excel_Sheet1.xlsx")
    assert b"<f>" not in zipfile.ZipFile(io.BytesIO(blob)).read("xl/worksheets/sheet1.xml")


def test_the_fonts_of_both_scripts_are_named_in_every_style_and_in_the_charts(tmp_path: Path) -> None:
    output = call(tmp_path, language="zh-CN", sections=section(paragraphs=["正文"], chart=chart()))
    document = docx.Document(str(tmp_path / output.files[0].path))
    for style in document.styles.element.findall(qn("w:style")):
        if style.get(qn("w:type")) in ("paragraph", "character"):
            fonts = style.find(f"{qn('w:rPr')}/{qn('w:rFonts')}")
            assert fonts.get(qn("w:eastAsia")) == "Microsoft YaHei", style.get(qn("w:styleId"))
            assert fonts.get(qn("w:eastAsiaTheme")) is None
    runs = document.element.body.findall(f".//{qn('w:r')}/{qn('w:rPr')}/{qn('w:rFonts')}")
    assert runs
    assert {fonts.get(qn("w:eastAsia")) for fonts in runs} == {"Microsoft YaHei"}
    assert document.styles.element.find(f".//{qn('w:lang')}").get(qn("w:eastAsia")) == "zh-CN"
    assert {ea.get("typeface") for ea in drawn(tmp_path, output).iter(A + "ea")} == {"Microsoft YaHei"}


def test_no_style_brings_the_look_of_the_template_along_by_a_link(tmp_path: Path) -> None:
    output = call(tmp_path, subtitle="Week 36", sections=section(paragraphs=["text"]))
    styles = docx.Document(str(tmp_path / output.files[0].path)).styles.element
    linked = {style.get(qn("w:styleId")) for style in styles.findall(qn("w:style")) if style.find(qn("w:link")) is not None}
    assert "Heading2" in linked
    assert not linked & {"Title", "Subtitle", "Heading1", "Header", "Footer", "TitleChar", "SubtitleChar", "Heading1Char"}


def test_the_document_names_its_title_author_and_language_and_no_date(tmp_path: Path) -> None:
    output = call(tmp_path, title="销售周报", language="zh-CN", sections=section(paragraphs=["正文"]))
    document = docx.Document(str(tmp_path / output.files[0].path))
    properties = document.core_properties
    assert (properties.title, properties.author, properties.language) == ("销售周报", "Zeno", "zh-CN")
    assert (properties.created, properties.modified) == (None, None)
    footer = etree.tostring(document.sections[0].first_page_footer._element, encoding="unicode")
    assert 'w:instr="PAGE"' in footer
    assert (document.sections[0].page_width.cm, document.sections[0].page_height.cm) == pytest.approx((21, 29.7), abs=0.01)


def test_tables_align_numbers_repeat_their_heading_and_do_not_break_rows(tmp_path: Path) -> None:
    rows = [["North", 1234567.5, 2026, "+3.1%"], ["South", None, 2025, "n/a"], ["Total", 1234567.5, None, None]]
    table = {"columns": ["Region", "Sales", "Year", "Change"], "rows": rows, "caption": "By region", "total_row": True}
    output = call(tmp_path, sections=section(table=table))
    made = docx.Document(str(tmp_path / output.files[0].path)).tables[0]
    texts = [[cell.text for cell in row.cells] for row in made.rows]
    assert texts[1:] == [
        ["North", "1,234,567.50", "2026", "+3.1%"],
        ["South", "—", "2025", "n/a"],
        ["Total", "1,234,567.50", "—", "—"],
    ]
    assert [cell.paragraphs[0].style.name for cell in made.rows[1].cells] == ["Table Text", *["Table Text Number"] * 3]
    assert [len(made._tbl.findall(f".//{qn(tag)}")) for tag in ("w:tblHeader", "w:cantSplit")] == [1, 4]
    assert all(cell.paragraphs[0].runs[0].bold for cell in made.rows[3].cells)
    assert "Table 1  By region" in words(tmp_path, output)


def test_key_figures_are_cards_whose_change_has_an_arrow_and_a_colour(tmp_path: Path) -> None:
    figures = [
        {"label": "Sales", "value": "¥100", "change": "+5%"},
        {"label": "Returns", "value": "7", "change": "2 fewer", "trend": "down"},
        {"label": "Stock", "value": "12"},
    ]
    output = call(tmp_path, headline="Up **5%**", key_figures=figures, sections=section(bullets=["Fine"]))
    cells = docx.Document(str(tmp_path / output.files[0].path)).tables[0].rows[0].cells
    assert [cell.text for cell in cells] == ["Sales\n¥100\n▲ +5%", "Returns\n7\n▼ 2 fewer", "Stock\n12\n"]
    assert [cell.paragraphs[2].style.name for cell in cells] == ["Card Up", "Card Down", "Card Flat"]
    assert "Up 5%" in words(tmp_path, output)


def test_the_same_report_is_the_same_file_and_has_a_harmless_name(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"file_name": "../周报: week/48.docx", "sections": section(chart=chart()), "notes": ["n"]}
    output = call(tmp_path, **arguments)
    first = (tmp_path / output.files[0].path).read_bytes()
    assert output.files[0].path == "周报-week-48-abcd1234.docx"
    assert f"{output.files[0].path} ({len(first):,} bytes" in output.text
    assert {entry.date_time for entry in package(tmp_path, output).infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert (tmp_path / call(tmp_path, **arguments).files[0].path).read_bytes() == first
    assert len(list(tmp_path.iterdir())) == 1
    assert "takes the place" in call(tmp_path, **{**arguments, "notes": ["m"]}).text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"title": " ", "sections": section(bullets=["x"])}, "the title is empty"),
        ({"title": "x" * 201, "sections": section(bullets=["x"])}, "the limit is 200"),
        ({"sections": []}, "no sections"),
        ({"sections": section(paragraphs=[" "])}, "nothing in section 1 ('Overview')"),
        ({"sections": section(chart=chart(Shop=[1, 2]))}, "'Shop' has 2 values for 3 categories"),
        ({"sections": section(chart=chart(Shop=[None, "—", "N/A"]))}, "no values in chart 'Sales by week'"),
        ({"sections": section(chart=chart(Shop=["$1", "€2", "3"]))}, "mix the units $, €"),
        ({"sections": section(chart=chart("pie", Shop=[1, -2, 3]))}, "negative"),
        ({"sections": section(chart=chart("pie", Shop=[1, 2, 3], Web=[1, 2, 3]))}, "has 2 series"),
        ({"sections": section(chart=chart("pie", ["x"] * 25, Shop=[1] * 25))}, "Too many slices"),
        ({"sections": section(table={"columns": ["a", "b"], "rows": [["x", 1], ["y"]]})}, "row 2 has 1 cells for 2 columns"),
        ({"sections": section(table={"columns": ["a"], "rows": [["x"]] * 5_001})}, "5,001, the limit is 5,000"),
        ({"sections": section(chart=chart()) * 21}, "21, the limit is 20"),
        ({"sections": section(chart=chart("bar", ["x"] * 50_001, Shop=[1] * 50_001))}, "50,001, the limit is 50,000"),
        ({"sections": section(chart=chart("area"))}, "Invalid enum value 'area'"),
    ],
)
def test_what_cannot_be_a_report_is_refused_with_a_reason_and_leaves_no_file(
    tmp_path: Path, arguments: dict[str, Any], complaint: str
) -> None:
    assert complaint in refusal(tmp_path, **arguments).message


def test_a_report_as_large_as_is_permitted_holds_every_row_and_point(tmp_path: Path) -> None:
    table = {"columns": list("abcdefgh"), "rows": [[1.5] * 8] * 5_000}
    labels = [str(number) for number in range(25_000)]
    told = call(tmp_path, sections=section(table=table, chart=chart("line", labels, Shop=[1] * 25_000, Web=[2] * 25_000)))
    assert "data points: 50,000" in told.text.replace("50000", "50,000")


def test_the_example_tables_are_what_their_maker_makes(tmp_path: Path) -> None:
    examples = Path(__file__).parents[2] / "examples"
    subprocess.run([sys.executable, str(examples / "make_sales.py"), str(tmp_path)], check=True, timeout=60)
    for name in ("sales.csv", "sales-gbk.csv"):
        assert (tmp_path / name).read_bytes() == (examples / name).read_bytes()
    made, kept = (openpyxl.load_workbook(folder / "orders.xlsx") for folder in (tmp_path, examples))
    assert [list(each.values) for each in made] == [list(each.values) for each in kept]


@pytest.mark.office
@pytest.mark.parametrize(
    ("language", "title", "headline", "parts"),
    [
        ("en-US", "Weekly sales by channel", "Online drove the rise", ["DataNotes", "Figure1", "Table1", "Page1of"]),
        ("zh-CN", "各渠道每周销售报告", "线上商城带动增长", ["数据说明", "图1", "表1", "第1页"]),
    ],
)
def test_an_office_program_opens_the_report_in_both_languages(
    tmp_path: Path, language: str, title: str, headline: str, parts: list[str]
) -> None:
    rows = [[week, number * 1000.5] for number, week in enumerate(WEEKS)]
    output = call(
        tmp_path,
        language,
        title=title,
        headline=headline,
        sections=[
            {
                "heading": "A",
                "chart": {**chart("line", WEEKS, 线上=list(range(10)), 门店=list(range(10))), "title": f"{title} 1"},
            },
            {"heading": "B", "chart": chart("bar"), "table": {"columns": ["W", "¥"], "rows": rows, "caption": "T"}},
            {"heading": "C", "chart": chart("pie")},
        ],
        notes=["N"],
    )
    pdf = pdf_of(tmp_path / output.files[0].path, tmp_path)
    seen = text_of(pdf)
    assert len(pages_of(pdf)) >= 2
    for part in (title, f"{title} 1", headline, "Sales by week", "门店", "9,004.50", "33.3%", *parts):
        assert re.sub(r"\s", "", part).lower() in seen.lower(), part
