"""The tool that computes figures from a table: right against plain Python, honest about gaps, closed to the world outside."""

import asyncio
import csv
import json
import random
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pytest

from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.builtin.tables.loading import open_table
from zeno.tools.builtin.tables.tools import query_table

SUM = {"function": "sum", "column": "amount"}


def said(workspace: Path, name: str = "sales.csv", **question: Any) -> str:
    context = ToolContext(run_id="t", call_id="c", workspace=workspace)
    return asyncio.run(query_table.call({"path": name, **question}, context)).text


def ask(workspace: Path, name: str = "sales.csv", **question: Any) -> dict[str, Any]:
    """The JSON at the end of what the tool says."""
    found = re.search(r"```json\n(.*)\n```$", said(workspace, name, **question), re.DOTALL)
    assert found
    answer: dict[str, Any] = json.loads(found[1])
    return answer


def noted(answer: dict[str, Any], code: str) -> dict[str, Any]:
    return next(note for note in answer["notes"] if note["code"] == code)


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    (tmp_path / "sales.csv").write_text(
        "date,channel,amount,order\n"
        '2026-09-07,Online,"1,200",001\n'
        "2026-09-08,Shop,300,002\n"
        "2026-09-15,Online,600,003\n"
        "2026-09-16,,200,004\n"
        "2026-09-29,Online,900,005\n"
        "2026-10-05,Shop,n/a,006\n"
        "2026-10-06,Shop,soon,007\n"
    )
    return tmp_path


class Sale(NamedTuple):
    day: date
    channel: str
    amount: Decimal


def generated(count: int, seed: int) -> list[Sale]:
    choose = random.Random(seed)
    return [
        Sale(
            date(2026, 1, 1) + timedelta(days=choose.randrange(300)),
            choose.choice(["线上", "门店", "批发"]),
            Decimal(choose.randint(-50_000, 5_000_000)) / 100,
        )
        for _ in range(count)
    ]


def dirty(sale: Sale, choose: random.Random) -> list[str]:
    day = choose.choice(["%Y-%m-%d", "%Y/%m/%d", "%Y年%m月%d日", "%d %b %Y"])
    amount = choose.choice(["{0}", "{0:,}", "￥{0:,}", " {0} ", "{0:,}元"])
    return [sale.day.strftime(day), sale.channel, amount.format(sale.amount)]


def saved(folder: Path, kind: str, sales: list[Sale], seed: int) -> tuple[str, str, str, str]:
    """Save the sales dirtily; the file's name and its names of the three columns."""
    choose = random.Random(seed)
    headers = {
        "gbk.csv": ["日期", "渠道", "金额（元）"],
        "x.tsv": ["Day", "Sold via", "Net amount"],
        "x.xlsx": ["when", "where", "£"],
    }[kind]
    if kind == "x.xlsx":
        book = openpyxl.Workbook()
        book.active.append(headers)
        for sale in sales:
            book.active.append([sale.day, sale.channel, choose.choice([float, "{:,}".format])(sale.amount)])
        book.save(folder / kind)
    else:
        encoding, delimiter = {"gbk.csv": ("gbk", ","), "x.tsv": ("utf-8", "\t")}[kind]
        with (folder / kind).open("w", encoding=encoding, newline="") as stream:
            csv.writer(stream, delimiter=delimiter).writerows([headers, *(dirty(sale, choose) for sale in sales)])
    return kind, *headers


@pytest.mark.parametrize("kind", ["gbk.csv", "x.tsv", "x.xlsx"])
def test_figures_equal_those_of_plain_python(tmp_path, kind):
    sales = generated(700, seed=len(kind))
    name, day, channel, amount = saved(tmp_path, kind, sales, seed=1)
    groups: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for sale in sales:
        groups[(sale.day - timedelta(days=sale.day.weekday())).isoformat(), sale.channel].append(sale.amount)

    functions = ["sum", "mean", "median", "min", "max"]
    measures = [{"function": function, "column": amount, "name": function} for function in functions]
    answer = ask(
        tmp_path,
        name,
        period={"column": day, "every": "week"},
        group_by=[channel],
        measures=[*measures, {"function": "count"}],
        limit=1000,
    )

    assert answer["columns"] == ["week", channel, *functions, "count"]
    assert {(week, where): (total, low, high, count) for week, where, total, _, _, low, high, count in answer["rows"]} == {
        key: (float(sum(values)), float(min(values)), float(max(values)), len(values)) for key, values in groups.items()
    }
    for week, where, _, mean, median, *_ in answer["rows"]:
        values = groups[week, where]
        assert (mean, median) == pytest.approx((float(statistics.mean(values)), float(statistics.median(values))), abs=1e-6)


def test_a_sum_of_many_cents_is_exact(tmp_path):
    (tmp_path / "sales.csv").write_text("k,amount\n" + "a,0.1\n" * 3000 + "b,0.7\n")

    assert ask(tmp_path, measures=[SUM])["rows"] == [[300.7]]


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        ("week", [["2026-09-07", 1500], ["2026-09-14", 800], ["2026-09-28", 900], ["2026-10-05", None]]),
        ("month", [["2026-09", 3200], ["2026-10", None]]),
        ("quarter", [["2026-Q3", 3200], ["2026-Q4", None]]),
        ("year", [["2026", 3200]]),
    ],
)
def test_periods_are_those_of_the_calendar(sales, every, expected):
    answer = ask(sales, period={"column": "date", "every": every}, measures=[SUM])

    assert (answer["columns"], answer["rows"]) == ([every, "sum_amount"], expected)


def test_the_change_is_against_the_period_just_before_and_nothing_across_a_gap(sales):
    answer = ask(sales, period={"column": "date", "every": "week"}, measures=[SUM], change=True)

    assert answer["columns"] == ["week", "sum_amount", "previous_sum_amount", "change_sum_amount", "change_percent_sum_amount"]
    assert answer["rows"][:3] == [
        ["2026-09-07", 1500, None, None, None],
        ["2026-09-14", 800, 1500, -700, -46.666667],
        ["2026-09-28", 900, None, None, None],
    ]


def test_the_change_of_a_group_is_against_the_same_group_missing_ones_included(tmp_path):
    (tmp_path / "sales.csv").write_text("date,c,amount\n2026-01-01,,5\n2026-02-01,,7\n2026-02-03,A,9\n2025-12-31,A,1\n")
    answer = ask(tmp_path, period={"column": "date", "every": "month"}, group_by=["c"], measures=[SUM], change=True)

    assert [row[:4] for row in answer["rows"]] == [
        ["2025-12", "A", 1, None],
        ["2026-01", None, 5, None],
        ["2026-02", "A", 9, None],
        ["2026-02", None, 7, 5],
    ]


def test_a_share_is_of_the_whole_result_or_of_the_same_period(sales):
    measures = [{**SUM, "share": True}]

    whole = ask(sales, group_by=["channel"], measures=measures)
    monthly = ask(sales, group_by=["channel"], period={"column": "date", "every": "week"}, measures=measures, limit=1)

    assert whole["rows"] == [["Online", 2700, 84.375], ["Shop", 300, 9.375], [None, 200, 6.25]]
    assert (monthly["rows"], monthly["row_count"]) == ([["2026-09-07", "Online", 1200, 80]], 6)


def test_a_pivot_makes_columns_of_values_and_leaves_gaps_empty(sales):
    period = {"column": "date", "every": "week"}

    by_channel = ask(sales, period=period, group_by=["channel"], measures=[SUM], pivot="channel")
    by_week = ask(sales, period=period, group_by=["channel"], measures=[SUM], pivot="week", order_by="2026-09-14")

    assert by_channel["columns"] == ["week", "Online", "Shop", "(missing)"]
    assert by_channel["rows"][:2] == [["2026-09-07", 1200, 300, None], ["2026-09-14", 600, None, 200]]
    assert by_week["columns"] == ["channel", "2026-09-07", "2026-09-14", "2026-09-28", "2026-10-05"]
    assert by_week["rows"] == [
        [None, None, 200, None, None],
        ["Online", 1200, 600, 900, None],
        ["Shop", 300, None, None, None],
    ]


def test_gaps_in_groups_and_figures_are_named(sales):
    answer = ask(sales, group_by=["channel"], measures=[SUM])

    assert noted(answer, "missing_group")["count"] == 1
    assert noted(answer, "missing_values")["count"] == 1
    assert noted(answer, "not_a_number")["examples"] == ["row 8: soon"]
    assert "not_a_number" not in json.dumps(
        ask(sales, measures=[SUM], where=[{"column": "date", "op": "<", "value": "2026-10"}])
    )


@pytest.mark.parametrize(
    ("column", "op", "value", "orders"),
    [
        ("channel", "=", "Shop", ["002", "006", "007"]),
        ("Channel ", "!=", "Online", ["002", "004", "006", "007"]),
        ("channel", "in", ["Shop", "Online"], ["001", "002", "003", "005", "006", "007"]),
        ("channel", "contains", "ONL", ["001", "003", "005"]),
        ("channel", "is_empty", None, ["004"]),
        ("amount", "not_empty", None, ["001", "002", "003", "004", "005"]),
        ("amount", ">=", 600, ["001", "003", "005"]),
        ("amount", "<", "￥1,000", ["002", "003", "004", "005"]),
        ("amount", "between", [200, 600], ["002", "003", "004"]),
        ("date", "between", ["2026-09-08", "2026-09"], ["002", "003", "004", "005"]),
        ("date", ">", "2026年9月29日", ["006", "007"]),
        ("date", "=", "2026-10", ["006", "007"]),
        ("date", "<=", "2025", []),
        ("order", "=", "003", ["003"]),
        ("order", "in", "003", ["003"]),
    ],
)
def test_conditions_pick_the_rows_they_say(sales, column, op, value, orders):
    answer = ask(sales, columns=["order"], where=[{"column": column, "op": op, "value": value}])

    assert [row[0] for row in answer["rows"]] == orders


def test_a_day_means_the_whole_day_when_the_column_has_times(tmp_path):
    (tmp_path / "sales.csv").write_text("at,k\n2026-11-30 09:00,a\n2026-11-30 23:59:59,b\n2026-12-01 00:00,c\n")

    assert ask(tmp_path, where=[{"column": "at", "op": "<=", "value": "2026-11-30"}], columns=["k"])["rows"] == [["a"], ["b"]]
    assert ask(tmp_path, where=[{"column": "at", "op": ">", "value": "2026-11-30 09:00"}], columns=["k"])["rows"] == [
        ["b"],
        ["c"],
    ]


def test_conditions_add_up(sales):
    where = [{"column": "channel", "op": "=", "value": "Online"}, {"column": "amount", "op": ">", "value": 700}]

    assert said(sales, where=where).startswith("sales.csv: 2 rows from 2 of 7 rows.")


def test_rows_come_in_the_order_of_the_file_or_as_asked(sales):
    assert [row[0] for row in ask(sales, columns=["order"], limit=2)["rows"]] == ["001", "002"]
    assert [row[0] for row in ask(sales, columns=["order"], descending=True, limit=2)["rows"]] == ["007", "006"]
    largest = ask(sales, columns=["order", "amount"], order_by="AMOUNT", descending=True, limit=2)
    assert largest["rows"] == [["001", 1200], ["005", 900]]


def test_what_the_limit_leaves_out_is_said(sales):
    text = said(sales, limit=2)

    assert "Only the first 2 are shown; 5 are left out." in text
    assert '"row_count":7,"shown":2' in text


def test_figures_without_groups_are_one_row_and_units_stand_in_the_text(tmp_path):
    (tmp_path / "sales.csv").write_text("amount,rate\n¥5,10%\n¥7,20%\n")

    text = said(tmp_path, measures=[SUM, {"function": "mean", "column": "rate"}])

    assert "- sum_amount ¥12, mean_rate 15%" in text


def test_results_with_the_same_name_are_kept_apart(sales):
    assert ask(sales, measures=[SUM, SUM, {**SUM, "name": "count"}])["columns"] == ["sum_amount", "sum_amount_2", "count"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (
            {"group_by": ["chanel"]},
            "no column 'chanel'. Did you mean 'channel'? The columns are: 'date', 'channel', 'amount', 'order'",
        ),
        ({"measures": [{"function": "sum", "column": "channel"}]}, "needs a number column, but 'channel' is text"),
        ({"measures": [{"function": "sum"}]}, "needs a column"),
        ({"period": {"column": "amount", "every": "week"}}, "needs a date column, but 'amount' is number"),
        ({"where": [{"column": "amount", "op": ">", "value": "much"}]}, "'much' is no number"),
        ({"where": [{"column": "date", "op": "=", "value": "someday"}]}, "'someday' is no date"),
        ({"where": [{"column": "amount", "op": "between", "value": [1]}]}, "a list of two values"),
        ({"where": [{"column": "amount", "op": "=", "value": None}]}, "Use 'is_empty'"),
        ({"change": True, "measures": [SUM]}, "needs 'period'"),
        ({"pivot": "channel", "group_by": ["channel"], "measures": [SUM, {"function": "count"}]}, "exactly one measure"),
        ({"pivot": "channel", "group_by": ["date"]}, "must also be in 'group_by'"),
        ({"columns": ["date"], "group_by": ["channel"]}, "'columns' is for rows"),
        ({"order_by": "profit"}, "no column 'profit' to order by"),
        ({"measures": [{"function": "mean", "column": "amount", "share": True}]}, "A share needs 'sum' or 'count'"),
        ({"limit": 0}, "limit"),
    ],
)
def test_a_question_that_cannot_be_answered_says_what_to_change(sales, question, words):
    with pytest.raises(ToolFailed, match=re.escape(words)):
        ask(sales, **question)


HOSTILE = ['a" FROM cells; --', "b'; DROP TABLE cells; --", "read_csv('/etc/passwd')", "(SELECT text FROM about)"]


def test_hostile_names_and_values_are_only_names_and_values(tmp_path):
    with (tmp_path / "sales.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([HOSTILE, ["1", *HOSTILE[1:]], ["2", *HOSTILE[1:]]])
    measure = {"function": "sum", "column": HOSTILE[0], "name": 'x", (SELECT 1) AS "y'}

    grouped = ask(tmp_path, group_by=HOSTILE[1:], measures=[measure], order_by=measure["name"])
    chosen = ask(tmp_path, where=[{"column": name, "op": "=", "value": name} for name in HOSTILE[1:]])
    pivoted = ask(tmp_path, group_by=[HOSTILE[2]], measures=[measure], pivot=HOSTILE[2])

    assert grouped["rows"] == [[*HOSTILE[1:], 3]]
    assert chosen["row_count"] == 2
    assert (pivoted["columns"], pivoted["rows"]) == ([HOSTILE[2]], [[3]])
    with pytest.raises(ToolFailed, match="no column"):
        ask(tmp_path, measures=[SUM], group_by=["read_text('/etc/hostname')"])


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH '/tmp/other.duckdb'",
        "COPY cells TO '/tmp/stolen.csv'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "DROP TABLE cells",
    ],
)
def test_the_database_itself_reaches_nothing_and_changes_nothing(sales, statement):
    with pytest.raises(ToolFailed, match="could not be worked on"), open_table(sales, "sales.csv", None) as table:
        table.connection.execute(statement).fetchall()


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gb18030", "utf-8"])
def test_a_file_of_200_megabytes_is_read_in_bounded_memory(tmp_path, encoding):
    total = Decimal(0)
    choose = random.Random(1)
    with (tmp_path / "big.csv").open("w", encoding=encoding, newline="") as stream:
        stream.write("日期,地区,金额,备注\r\n")
        while stream.tell() < 200_000_000:
            block = []
            for sale in generated(20_000, seed=choose.randrange(10**9)):
                total += sale.amount
                block.append(f'{sale.day:%Y/%m/%d},{sale.channel},"{sale.amount:,}",订单备注{choose.randrange(10**12)}')
            stream.write("\r\n".join(block) + "\r\n")
    script = """
import asyncio, resource, sys
from pathlib import Path
from zeno.core.ports import ToolContext
from zeno.tools.builtin.tables.tools import query_table, read_table
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before, context = peak(), ToolContext(run_id="t", call_id="c", workspace=Path(sys.argv[1]))
asyncio.run(read_table.call({"path": "big.csv"}, context))
measures = [{"function": "sum", "column": "金额"}, {"function": "count_distinct", "column": "备注"}]
print(asyncio.run(query_table.call({"path": "big.csv", "measures": measures}, context)).text.splitlines()[3])
print(peak() - before)
"""

    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=300, check=True
    )

    row, grown = done.stdout.splitlines()
    assert row.startswith(f"- sum_金额 {total:,}".rstrip("0").rstrip("."))
    assert int(grown) < 1000
