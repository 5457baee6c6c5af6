"""The main job: one sentence in, a finished Word report out, offline; its numbers recomputed here without any of our code."""

import csv
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path

import docx
import openpyxl
import pytest

from tests.architecture.source import ROOT
from tests.door import Door, Outcome, texts
from tests.office import pages_of, pdf_of, text_of

Weeks = dict[str, dict[date, Decimal]]

JOBS = {
    "en": (
        "sales.csv",
        "Summarise sales.csv by channel and write the weekly report in Word with a line chart",
        ("date", "channel", "amount"),
    ),
    "zh": ("sales-gbk.csv", "把 sales-gbk.csv 按渠道汇总，生成带折线图的 Word 周报", ("日期", "渠道", "销售额")),
    "xlsx": (
        "orders.xlsx",
        "A weekly Word report with a line chart, please: Net Revenue per Region, from orders.xlsx",
        ("Order Day", "Region", "Net Revenue"),
    ),
}


@pytest.fixture(params=JOBS)
def job(request: pytest.FixtureRequest, door: Door) -> tuple[Outcome, Path, Weeks, str]:
    """One of the jobs, done: its outcome, its document, the sums recomputed, its language."""
    name, sentence, columns = JOBS[request.param]
    (door.here / name).write_bytes((ROOT / "examples" / name).read_bytes())
    door.env["ZENO_MODEL"] = "offline"
    outcome = door.run(sentence, "--out", door.here / "out")
    assert outcome.code == 0, outcome.out
    (document,) = (door.here / "out").glob("*.docx")
    return outcome, document, recomputed(door.here / name, columns), request.param


def recomputed(path: Path, columns: tuple[str, str, str]) -> Weeks:
    """Sums by group and week (its Monday); what is no number or no date is left out, as a careful reader would."""
    sums: Weeks = defaultdict(lambda: defaultdict(Decimal))
    for day, group, amount in rows_of(path, columns):
        value = number(amount)
        if value is not None and group.strip():
            monday = day_of(day) - timedelta(days=day_of(day).weekday())
            sums[group.strip()][monday] += value
    return {group: dict(sorted(weeks.items())) for group, weeks in sums.items()}


def rows_of(path: Path, columns: tuple[str, str, str]) -> Iterator[tuple[object, str, object]]:
    if path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path)
        rows = list(book["Orders"].iter_rows(values_only=True))
        book.close()
    else:
        encoding = "utf-8-sig" if path.name == "sales.csv" else "gb18030"
        rows = list(csv.reader(io.StringIO(path.read_text(encoding))))
    start = next(n for n, row in enumerate(rows) if columns[0] in [str(cell).strip() for cell in row])
    places = [[str(cell).strip() for cell in rows[start]].index(column) for column in columns]
    for row in rows[start + 1 :]:
        if any(cell not in (None, "") for cell in row):
            day, group, amount = (row[place] for place in places)
            yield day, str(group), amount


def number(cell: object) -> Decimal | None:
    try:
        return Decimal(re.sub(r"[,￥¥$\s]", "", str(cell)))
    except InvalidOperation:
        return None


def day_of(cell: object) -> date:
    if isinstance(cell, datetime):
        return cell.date()
    forms = ("%Y-%m-%d", "%Y/%m/%d", "%d %b %Y")
    for form in forms:
        try:
            return datetime.strptime(str(cell).strip(), form).date()  # noqa: DTZ007 - days have no zone
        except ValueError:
            continue
    raise AssertionError(cell)


def workbooks(document: Path) -> list[list[tuple[object, ...]]]:
    """The rows of every workbook embedded in the document."""
    with zipfile.ZipFile(document) as package:
        names = sorted(name for name in package.namelist() if name.startswith("word/embeddings/"))
        books = [openpyxl.load_workbook(io.BytesIO(package.read(name))) for name in names]
    return [[tuple(row) for row in book.worksheets[0].iter_rows(values_only=True)] for book in books]


def test_the_chart_is_native_and_its_workbook_holds_the_recomputed_sums(job: tuple[Outcome, Path, Weeks, str]) -> None:
    _, document, weeks, _ = job
    with zipfile.ZipFile(document) as package:
        charts = [name for name in package.namelist() if re.fullmatch(r"word/charts/chart[^/]*\.xml", name)]
        assert charts
        assert any(b"lineChart" in package.read(name) for name in charts)
    by_series = {}
    for header, *rows in workbooks(document):
        for place, series in enumerate(header[1:], 1):
            by_series[series] = [row[place] for row in rows]
    for group, sums in weeks.items():
        assert by_series[group] == pytest.approx([float(value) for value in sums.values()])


def test_the_figures_of_the_text_are_the_recomputed_ones(job: tuple[Outcome, Path, Weeks, str]) -> None:
    outcome, document, weeks, _ = job
    mondays = sorted({monday for sums in weeks.values() for monday in sums})
    latest, before = (sum(sums.get(monday, Decimal()) for sums in weeks.values()) for monday in (mondays[-1], mondays[-2]))
    words = whole_text(document)
    rise = (latest - before) / before * 100
    assert f"{abs(rise):.1f}%" in words.replace(" ", "").replace("\N{NO-BREAK SPACE}", "")
    assert any(shown in words.replace(",", "") for shown in (f"{latest:.0f}", f"{latest:.1f}", f"{latest:.2f}"))
    top = max(weeks, key=lambda group: sum(weeks[group].values()))
    assert top in words
    assert document.name in texts(outcome)[-1]


def whole_text(document: Path) -> str:
    opened = docx.Document(str(document))
    cells = [cell.text for table in opened.tables for row in table.rows for cell in row.cells]
    return "\n".join([paragraph.text for paragraph in opened.paragraphs] + cells)


def test_what_was_cleaned_and_what_was_left_out_is_said(job: tuple[Outcome, Path, Weeks, str]) -> None:
    _, document, _, language = job
    words = whole_text(document)
    expected = {"en": ("1,904.12", "row 182"), "zh": ("1,904.12", "182"), "xlsx": ("Net Revenue",)}[language]
    assert all(text in words for text in expected)
    assert "was not found" not in words


def test_queries_of_one_step_ran_at_the_same_time(job: tuple[Outcome, Path, Weeks, str]) -> None:
    outcome, _, _, _ = job
    steps: dict[int, list[str]] = defaultdict(list)
    for event in outcome.of("tool_started"):
        steps[event["step"]].append(event["name"])
    assert ["read_table"] in steps.values()
    assert ["generate_word_report"] in steps.values()
    assert all(event["result"]["outcome"] == "done" for event in outcome.of("tool_finished"))


def test_the_file_carries_the_trace_id(job: tuple[Outcome, Path, Weeks, str]) -> None:
    outcome, document, _, _ = job
    assert outcome.events[0]["run_id"][:8] in document.name


@pytest.mark.office
def test_libreoffice_opens_it_and_shows_the_headline(job: tuple[Outcome, Path, Weeks, str], tmp_path: Path) -> None:
    _, document, weeks, _ = job
    pdf = pdf_of(document, tmp_path)
    shown = text_of(pdf)
    assert all(group.replace(" ", "") in shown for group in weeks)
    assert len(pages_of(pdf)) <= 4
