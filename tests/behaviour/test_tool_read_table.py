"""The tool that looks into a table file: any usual format, its columns and its dirt, and clear words when there is no table."""

import asyncio
import json
import re
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.builtin.tables.tools import read_table

SALES = '日期,渠道,金额\n2026-09-07,线上,"1,200"\n2026-09-08,门店,300.5\n2026-09-14,线上,-20\n'


def said(workspace: Path, name: str, **arguments: Any) -> str:
    context = ToolContext(run_id="t", call_id="c", workspace=workspace)
    return asyncio.run(read_table.call({"path": name, **arguments}, context)).text


def look(workspace: Path, name: str, **arguments: Any) -> dict[str, Any]:
    """The JSON at the end of what the tool says."""
    found = re.search(r"```json\n(.*)\n```$", said(workspace, name, **arguments), re.DOTALL)
    assert found
    table: dict[str, Any] = json.loads(found[1])
    return table


def written(workspace: Path, name: str, content: str | bytes) -> str:
    (workspace / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def noted(table: dict[str, Any], code: str) -> dict[str, Any]:
    return next(note for note in table["notes"] if note["code"] == code)


def names(table: dict[str, Any]) -> list[str]:
    return [column["name"] for column in table["columns"]]


def workbook(path: Path, **sheets: list[list[Any]]) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return book


def test_the_conclusion_comes_first_and_the_json_last(tmp_path):
    text = said(tmp_path, written(tmp_path, "sales.csv", SALES))

    assert text.startswith("sales.csv: 3 rows, 3 columns (UTF-8, comma).\n")
    assert text.endswith("\n```")
    assert "- 金额: number, -20 to 1,200, sum 1,480.5, 3 different" in text


def test_columns_are_described_as_promised(tmp_path):
    table = look(tmp_path, written(tmp_path, "sales.csv", SALES))

    assert (table["path"], table["sheet"], table["sheets"], table["rows"]) == ("sales.csv", None, [], 3)
    assert table["columns"] == [
        {
            "name": "日期",
            "type": "date",
            "missing": 0,
            "distinct": 3,
            "minimum": "2026-09-07",
            "maximum": "2026-09-14",
            "examples": ["2026-09-07", "2026-09-08", "2026-09-14"],
        },
        {"name": "渠道", "type": "text", "missing": 0, "distinct": 2, "examples": ["线上", "门店"]},
        {
            "name": "金额",
            "type": "number",
            "unit": None,
            "missing": 0,
            "distinct": 3,
            "minimum": -20,
            "maximum": 1200,
            "sum": 1480.5,
            "examples": ["1200", "300.5", "-20"],
        },
    ]
    assert table["preview"][0] == ["2026-09-07", "线上", 1200]
    assert len(look(tmp_path, "sales.csv", preview_rows=1)["preview"]) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "gb18030", "utf-16"])
def test_any_usual_encoding_gives_the_same_table(tmp_path, encoding):
    expected = look(tmp_path, written(tmp_path, "sales.csv", SALES))

    assert look(tmp_path, written(tmp_path, "sales.csv", SALES.encode(encoding))) == expected


@pytest.mark.parametrize(("delimiter", "word"), [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar")])
def test_any_usual_delimiter_is_found(tmp_path, delimiter, word):
    rows = [["city", "note", "amount"], ["北京", '"a\nb, c; d"', "1.5"], ["上海", '"say ""hi"""', "2"]]
    name = written(tmp_path, "x.csv", "\r\n".join(delimiter.join(row) for row in rows))

    assert f"(UTF-8, {word})" in said(tmp_path, name)
    assert look(tmp_path, name)["preview"] == [["北京", "a\nb, c; d", 1.5], ["上海", 'say "hi"', 2]]


def test_the_delimiter_that_excel_declares_is_used(tmp_path):
    assert look(tmp_path, written(tmp_path, "x.csv", "sep=;\na;b\n1;2,5\n3;4,25\n"))["preview"] == [[1, 2.5], [3, 4.25]]


def test_titles_empty_rows_and_repeated_headers_are_skipped_and_counted(tmp_path):
    table = look(tmp_path, written(tmp_path, "x.csv", "Sales 2026,,\n,,\ncity,amount,n\nA,5,1\n\ncity,amount,n\nB,6,2\n"))

    assert (names(table), table["rows"], table["columns"][1]["sum"]) == (["city", "amount", "n"], 2, 11)
    assert noted(table, "title_rows_skipped")["examples"] == ["Sales 2026"]
    assert noted(table, "empty_rows_skipped")["count"] == 1
    assert noted(table, "repeated_headers_skipped")["count"] == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("North,5\nSouth,6\nNorth,7\n", ["column_1", "column_2"]),
        ("5\n6\n7\n", ["column_1"]),
        ("city,2024,2025\nA,500,600\nB,700,800\n", ["city", "2024", "2025"]),
        ("city,2026-10,2026-11\nA,1,2\n", ["city", "2026-10", "2026-11"]),
        ("A,2024\nB,2025\n", ["column_1", "column_2"]),
        ("name,city\nAnn,Rome\nBob,Rome\n", ["name", "city"]),
        ("a,,c\n1,2,3\n", ["a", "column_2", "c"]),
        ("a,a,b\n1,2,3\n", ["a", "a_2", "b"]),
        ("a,a,a_2\n1,2,3\n", ["a", "a_3", "a_2"]),
        ('"net\namount", x \n1,2\n', ["net amount", "x"]),
        ("a,b\n1,2,3\n4,5,6\n", ["a", "b", "column_3"]),
    ],
)
def test_the_header_is_found_or_made_up(tmp_path, content, expected):
    assert names(look(tmp_path, written(tmp_path, "x.csv", content))) == expected


def test_renamed_and_named_columns_are_noted(tmp_path):
    table = look(tmp_path, written(tmp_path, "x.csv", "a,a,,b\n1,2,3,4\n"))

    assert noted(table, "duplicate_header")["column"] == "a_2"
    assert noted(table, "blank_header")["examples"] == ["column_3"]


def test_ragged_rows_lose_nothing_silently(tmp_path):
    table = look(tmp_path, written(tmp_path, "x.csv", "a,b,c\n1,2,3\n4,5\n6,7,8,extra,more\n9,1,2,,\n"))

    assert table["preview"][1] == [4, 5, None]
    assert noted(table, "ragged_rows")["count"] == 2
    assert noted(table, "ragged_rows")["examples"] == ["row 3: 2/3", "row 4: + extra, more"]


def test_rows_are_numbered_as_in_the_file_even_after_cells_of_several_lines(tmp_path):
    content = 'note,n\n"one\ntwo",1\n\nx,2\nx,3\nx,4\nx,bad\n'

    assert noted(look(tmp_path, written(tmp_path, "x.csv", content)), "not_a_number")["examples"] == ["row 7: bad"]


def test_total_rows_are_pointed_out_and_kept(tmp_path):
    table = look(tmp_path, written(tmp_path, "x.csv", "city,n\nA,1\nB,2\n合 计,3\n"))

    assert noted(table, "total_rows")["examples"] == ["row 4: 合 计"]
    assert table["columns"][1]["sum"] == 6


def test_undecodable_characters_are_counted(tmp_path):
    content = ("城市,金额\n" + "北京,1\n" * 200).encode() + b"\xff\xfe,2\n"

    assert noted(look(tmp_path, written(tmp_path, "x.csv", content)), "undecodable_characters")["count"] == 2


def test_numbers_among_texts_are_said_to_be_kept_as_text(tmp_path):
    table = look(tmp_path, written(tmp_path, "x.csv", "k,v\na,1\nb,2\nc,x\n"))

    assert table["columns"][1]["type"] == "text"
    assert noted(table, "mixed_column")["count"] == 2


def test_truth_values_and_empty_columns_have_their_type(tmp_path):
    table = look(tmp_path, written(tmp_path, "x.csv", "k,yes,none\na,true,\nb,FALSE,\nc,,-\n"))

    assert [column["type"] for column in table["columns"]] == ["text", "boolean", "empty"]
    assert table["preview"] == [["a", True, None], ["b", False, None], ["c", None, None]]


def test_a_changed_file_is_read_again_and_a_broken_copy_is_made_anew(tmp_path):
    assert look(tmp_path, written(tmp_path, "x.csv", "k,v\na,1\n"))["rows"] == 1
    assert look(tmp_path, written(tmp_path, "x.csv", "k,v\na,1\nb,22\n"))["rows"] == 2
    (copy,) = (tmp_path / ".zeno" / "tables").glob("*.duckdb")
    copy.write_bytes(b"broken")

    assert look(tmp_path, "x.csv")["columns"][1]["sum"] == 23


def test_an_unchanged_file_is_not_parsed_twice(tmp_path):
    name = written(tmp_path, "x.csv", "k,v\na,1\n")
    first = look(tmp_path, name)
    (copy,) = (tmp_path / ".zeno" / "tables").iterdir()
    written_at = copy.stat().st_mtime_ns

    assert look(tmp_path, name) == first
    assert copy.stat().st_mtime_ns == written_at


def test_a_workbook_shows_what_a_person_sees(tmp_path):
    rows = [["销售月报"], [], ["日期", "金额", "折扣", "编号", "确认"]]
    rows += [
        [date(2026, 11, 1), 1200.5, 0.125, "007", True],
        [datetime.fromisoformat("2026-11-02T09:30"), 0.1 + 0.2, 0.07, "010", False],
    ]
    book = workbook(tmp_path / "b.xlsx", Empty=[], 销售=rows)
    for row in book["销售"].iter_rows(min_row=4):
        row[1].number_format, row[2].number_format = '[$¥-804]#,##0.00;-"¥"#,##0.00', "0.0%"
    book.save(tmp_path / "b.xlsx")

    table = look(tmp_path, "b.xlsx")

    assert (table["sheet"], table["sheets"], table["rows"]) == ("销售", ["Empty", "销售"], 2)
    assert table["preview"] == [["2026-11-01", 1200.5, 12.5, "007", True], ["2026-11-02T09:30:00", 0.3, 7, "010", False]]
    assert [column.get("unit") for column in table["columns"]] == [None, "¥", "%", None, None]
    assert noted(table, "title_rows_skipped")["examples"] == ["销售月报"]


def test_a_sheet_is_chosen_by_name_and_a_wrong_name_lists_them_all(tmp_path):
    workbook(tmp_path / "b.xlsx", First=[["a"], [1]], Second=[["b"], [2]])

    assert names(look(tmp_path, "b.xlsx", sheet=" second ")) == ["b"]
    with pytest.raises(ToolFailed, match=r"no sheet 'Third'\. Its sheets are: 'First', 'Second'"):
        look(tmp_path, "b.xlsx", sheet="Third")


def test_formulas_that_were_never_calculated_are_counted(tmp_path):
    workbook(tmp_path / "b.xlsx", S=[["a", "double"], [1, "=A2*2"], [2, "=A3*2"]])

    assert noted(look(tmp_path, "b.xlsx"), "formulas_without_value")["examples"] == ["B2", "B3"]


def test_a_workbook_with_another_name_is_still_one(tmp_path):
    workbook(tmp_path / "b.xlsx", S=[["a"], [1]])
    (tmp_path / "b.xlsx").rename(tmp_path / "b.csv")

    assert look(tmp_path, "b.csv")["sheet"] == "S"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.csv", b"", "is empty"),
        ("x.csv", b"\xef\xbb\xbf\r\n\n", "is empty"),
        ("x.csv", b" , \n , \n", "no cell that is filled"),
        ("x.csv", b"a,b,c\n", "no rows below"),
        ("x.csv", b"%PDF-1.7 ...", "a PDF document, not a table"),
        ("x.csv", bytes(range(256)) * 10, "a binary file, not a table"),
        ("x.json", b'{"a": 1}', "not a table"),
        ("x.xls", b"<html><table><tr><td>1</td></tr></table></html>", "not a table"),
        ("x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "old .xls file or protected by a password"),
        ("x.xlsx", b"PK\x03\x04 cut off", "damaged"),
        ("x.xlsx", b"just text", "damaged"),
        ("x.csv", b'a,b\n1,2\n"3,4\n5,6\n', "after row 2: a quoted cell seems to have no end"),
    ],
)
def test_what_is_no_table_is_refused_in_clear_words(tmp_path, name, content, words):
    with pytest.raises(ToolFailed, match=re.escape(words)):
        look(tmp_path, written(tmp_path, name, content))


def test_a_workbook_damaged_inside_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook")

    with pytest.raises(ToolFailed, match="damaged"):
        look(tmp_path, "b.xlsx")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"0" * 20_000_000)

    with pytest.raises(ToolFailed, match="unpacks to 19 MB"):
        look(tmp_path, "b.xlsx")


@pytest.mark.parametrize("path", ["../x.csv", "/etc/passwd", "link.csv"])
def test_nothing_outside_the_workspace_is_read(tmp_path, path):
    (tmp_path / "inside").mkdir()
    written(tmp_path, "x.csv", SALES)
    (tmp_path / "inside" / "link.csv").symlink_to(tmp_path / "x.csv")

    with pytest.raises(ToolFailed, match="outside the workspace"):
        look(tmp_path / "inside", path)
