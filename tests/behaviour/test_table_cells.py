"""Dirty numbers and dates are read for what they mean, whatever they look like."""

import asyncio
import csv
import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zeno.core.ports import ToolContext
from zeno.tools.builtin.tables.tools import read_table

_FULL_WIDTH = str.maketrans("0123456789.,-", "０１２３４５６７８９．，－")


def column(folder: Path, texts: list[str], name: str = "amount") -> dict[str, Any]:
    """The second column of a file with these texts, as `read_table` describes it, with all its values."""
    with (folder / "dirty.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["label", name], *([f"row {number}", text] for number, text in enumerate(texts))])
    context = ToolContext(run_id="t", call_id="c", workspace=folder)
    text = asyncio.run(read_table.call({"path": "dirty.csv", "preview_rows": 50}, context)).text
    found = re.search(r"```json\n(.*)\n```$", text, re.DOTALL)
    assert found
    table = json.loads(found[1])
    described: dict[str, Any] = table["columns"][1]
    notes = {note["code"]: note for note in table["notes"] if note["column"] == name}
    return described | {"values": [row[1] for row in table["preview"]], "notes": notes}


def _in_brackets(number: Decimal) -> str:
    return f"({-number:,})" if number < 0 else f"{number:,}"


WAYS = {
    "plain": str,
    "commas": lambda number: f"{number:,}",
    "spaces": lambda number: f"{number:,}".replace(",", " "),
    "hard spaces": lambda number: f"{number:,}".replace(",", "\u00a0"),
    "apostrophes": lambda number: f"{number:,}".replace(",", "'"),
    "brackets": _in_brackets,
    "full width": lambda number: f"{number:,}".translate(_FULL_WIDTH),
    "true minus": lambda number: str(number).replace("-", "\u2212"),
    "yuan sign": lambda number: f"￥{number:,}",
    "yuan word": lambda number: f"{number:,}元",
    "code": lambda number: f"CNY {number:,}",
    "blanks around": lambda number: f"  {number} ",
    "ten thousands": lambda number: f"{number / 10000:f}万",
}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-(10**11), 10**11).map(lambda cents: Decimal(cents) / 100), st.sampled_from(sorted(WAYS))),
        min_size=1,
        max_size=40,
    )
)
def test_a_number_written_in_any_dirty_way_comes_back_as_that_number(tmp_path_factory, numbers):
    found = column(tmp_path_factory.mktemp("cells"), [WAYS[way](number) for number, way in numbers])

    assert found["type"] == "number"
    assert found["values"] == [float(number) for number, _ in numbers]
    assert found["sum"] == float(sum(number for number, _ in numbers))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.dates(date(1950, 1, 1), date(2099, 12, 31)),
            st.sampled_from(
                [
                    "%Y-%m-%d",
                    "%Y/%m/%d",
                    "%Y.%m.%d",
                    "%Y年%m月%d日",
                    "%d %b %Y",
                    "%d %B %Y",
                    "%b %d, %Y",
                    "%B %d, %Y",
                    "%d-%b-%Y",
                ]
            ),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_a_date_written_in_any_clear_way_comes_back_in_iso_form(tmp_path_factory, dates):
    found = column(tmp_path_factory.mktemp("cells"), [day.strftime(way) for day, way in dates], name="when")

    assert found["type"] == "date"
    assert found["values"] == [day.isoformat() for day, _ in dates]


def test_percentages_stay_as_they_are_shown_and_say_so(tmp_path):
    found = column(tmp_path, ["12%", "7.5％", "-3 %"])

    assert (found["unit"], found["values"]) == ("%", [12, 7.5, -3])
    assert found["notes"]["percentages_read"]["count"] == 3


def test_large_units_and_suffixes_are_multiplied_out(tmp_path):
    assert column(tmp_path, ["12万", "1.2亿", "3.4k", "1.13万元", "5千", "2百万"])["values"] == [
        120000,
        120000000,
        3400,
        11300,
        5000,
        2000000,
    ]


@pytest.mark.parametrize(
    ("texts", "unit"), [(["$5", "6"], "$"), (["5元", "￥6"], "¥"), (["5 EUR", "€6"], "€"), (["5", "6"], None)]
)
def test_one_currency_is_the_unit_of_the_column(tmp_path, texts, unit):
    found = column(tmp_path, texts)

    assert (found["unit"], found["values"]) == (unit, [5, 6])
    assert "mixed_units" not in found["notes"]


def test_several_currencies_in_a_column_are_no_unit_but_a_warning(tmp_path):
    found = column(tmp_path, ["$5", "¥6", "7"])

    assert found["unit"] is None
    assert found["notes"]["mixed_units"]["examples"] == ["$", "¥", "none"]


def test_words_for_nothing_are_missing_and_counted(tmp_path):
    found = column(tmp_path, ["5", "-", "—", "N/A", "null", "无", "", "6"])

    assert (found["values"], found["missing"]) == ([5, None, None, None, None, None, None, 6], 6)
    assert found["notes"]["missing_markers"]["count"] == 5
    assert "not_a_number" not in found["notes"]


def test_words_for_nothing_remain_texts_among_texts(tmp_path):
    assert column(tmp_path, ["NA", "EU", "无"])["values"] == ["NA", "EU", "无"]


def test_a_number_that_cannot_be_read_is_reported_with_its_row(tmp_path):
    found = column(tmp_path, ["1", "2", "3", "4", "1,2,3", "6", "7", "inf", "9", "10"])

    assert (found["type"], found["missing"]) == ("number", 2)
    assert found["notes"]["not_a_number"] == {
        "code": "not_a_number",
        "column": "amount",
        "count": 2,
        "examples": ["row 6: 1,2,3", "row 9: inf"],
    }


def test_a_decimal_comma_is_recognised_by_the_whole_column(tmp_path):
    found = column(tmp_path, ["1.000,5", "2,25", "1.200", "7"])

    assert found["values"] == [1000.5, 2.25, 1200, 7]
    assert "decimal_comma" in found["notes"]


@pytest.mark.parametrize("texts", [["00123", "45678"], ["6222021234567890123", "1"], ["007", "010", "999"]])
def test_identifiers_of_digits_stay_text(tmp_path, texts):
    found = column(tmp_path, texts)

    assert (found["type"], found["values"]) == ("text", texts)
    assert "identifiers_kept" in found["notes"]


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["30/11/2026", "05/06/2026"], ["2026-11-30", "2026-06-05"]),
        (["11/30/2026", "05/06/2026"], ["2026-11-30", "2026-05-06"]),
        (["30.11.26", "5.6.26"], ["2026-11-30", "2026-06-05"]),
    ],
)
def test_the_order_of_day_and_month_is_the_one_possible_for_all(tmp_path, texts, values):
    found = column(tmp_path, texts)

    assert found["values"] == values
    assert not [code for code in found["notes"] if code.startswith("ambiguous")]


@pytest.mark.parametrize("texts", [["05/06/2026", "07/08/2026"], ["05/06/2026", "30/11/2026", "11/30/2026"]])
def test_an_order_that_nothing_decides_is_said_to_be_a_guess(tmp_path, texts):
    assert column(tmp_path, texts)["notes"]["ambiguous_dates_month_first"]["examples"][0] == "05/06/2026"


def test_months_and_weeks_are_their_first_day(tmp_path):
    assert column(tmp_path, ["2026-11", "2026年9月", "2026-W48"])["values"] == ["2026-11-01", "2026-09-01", "2026-11-23"]


def test_eight_digits_are_dates_only_when_all_can_be_or_the_name_says_so(tmp_path):
    assert column(tmp_path, ["20261130", "20261201"])["values"] == ["2026-11-30", "2026-12-01"]
    assert column(tmp_path, ["20261130", "20269999"])["type"] == "number"
    assert column(tmp_path, ["20261130"] * 9 + ["20269999"], name="order date")["notes"]["not_a_date"]["count"] == 1


def test_times_of_day_are_kept(tmp_path):
    found = column(tmp_path, ["2026-11-30 10:15", "2026-11-30T22:15:01Z", "11/30/2026 10:15 PM", "2026-11-30"])

    assert found["values"] == ["2026-11-30T10:15:00", "2026-11-30T22:15:01", "2026-11-30T22:15:00", "2026-11-30"]


def test_dates_that_do_not_exist_are_reported(tmp_path):
    found = column(tmp_path, ["2026-02-28"] * 9 + ["2026-02-30"])

    assert found["notes"]["not_a_date"]["examples"] == ["row 11: 2026-02-30"]
