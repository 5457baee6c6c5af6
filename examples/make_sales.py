"""Makes the example tables beside this file: sales.csv, sales-gbk.csv and orders.xlsx.

The same run gives the same files. The story: the online store grows, retail dips in one week, wholesale is flat, the
marketplace drifts up, and all but wholesale jump in the last week, that of Black Friday. The dirt is deliberate and counted:

    5  amounts written as text: three like "1,200.50" and two like "￥3,400.5"
    2  amounts and one channel with trailing blanks
    3  amounts that say nothing: "N/A", "-" and an empty cell
    2  dates written differently: 2026/11/03 and 3 Nov 2026
    1  empty row
    1  row with a cell too many, a remark

Run it with: python examples/make_sales.py [folder]
"""

import csv
import io
import random
import re
import sys
import zipfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from openpyxl import Workbook

FIRST_DAY = date(2026, 8, 31)  # a Monday
LAST_DAY = date(2026, 11, 29)  # a Sunday: thirteen full weeks
RETAIL_DIP = 6  # the week of 12 October
LAST_WEEK = 12
PRODUCTS = {"Backpack": 320.0, "Desk Lamp": 180.0, "Water Bottle": 95.0}
CHANNELS = {"Online Store": 1900.0, "Retail": 1750.0, "Wholesale": 1300.0, "Marketplace": 800.0}  # a weekday's sales
CHINESE = {
    "Online Store": "线上商城", "Retail": "门店", "Wholesale": "批发", "Marketplace": "电商平台",
    "Backpack": "双肩包", "Desk Lamp": "台灯", "Water Bottle": "水壶",
    "date": "日期", "channel": "渠道", "product": "产品", "orders": "订单数", "amount": "销售额",
    "refund pending": "退款处理中",
}  # fmt: skip

Row = list[str]


def level(channel: str, week: int) -> float:
    """How busy `channel` is in a week, against its first week."""
    if channel == "Online Store":
        return (1 + 0.045 * week) * (1.35 if week == LAST_WEEK else 1)
    if channel == "Retail":
        return {RETAIL_DIP: 0.62, LAST_WEEK: 1.18}.get(week, 1.0)
    if channel == "Marketplace":
        return (1 + 0.02 * week) * (1.25 if week == LAST_WEEK else 1)
    return 1.0


def sales_rows(chance: random.Random) -> Iterator[Row]:
    """Clean rows: on most days one row per channel, of a product that changes from day to day."""
    products = list(PRODUCTS)
    for offset in range((LAST_DAY - FIRST_DAY).days + 1):
        day = FIRST_DAY + timedelta(days=offset)
        for number, (channel, sales) in enumerate(CHANNELS.items()):
            if channel == "Wholesale" and day.weekday() >= 5:
                continue
            product = products[(offset + number) % len(products)]
            weekend = 1.25 if day.weekday() >= 5 else 1.0
            amount = sales * level(channel, offset // 7) * weekend * chance.uniform(0.93, 1.07)
            orders = max(1, round(amount / PRODUCTS[product]))
            yield [day.isoformat(), channel, product, str(orders), f"{amount:.2f}"]


def dirtied(rows: list[Row]) -> list[Row]:
    """The rows as an export from several tills looks; the places are fixed, so that they can be counted."""
    amount = 4
    for place in (12, 96, 204):
        rows[place][amount] = f"{float(rows[place][amount]):,.2f}"
    for place in (40, 164):
        rows[place][amount] = f"￥{float(rows[place][amount]):,.1f}"
    for place in (77, 250):
        rows[place][amount] += "  "
    for place, nothing in ((63, "N/A"), (141, "-"), (222, "")):
        rows[place][amount] = nothing
    written = {"2026-11-03": iter(["2026/11/03", "3 Nov 2026"])}
    for row in rows:
        row[0] = next(written.get(row[0], iter(())), row[0])
    rows[120][1] += "  "
    rows[180].append("refund pending")
    rows.insert(270, [])
    return rows


def csv_text(rows: list[Row]) -> str:
    """The rows as CSV."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def in_chinese(rows: list[Row]) -> list[Row]:
    """The rows with Chinese names; blanks around a name stay where they are."""
    return [[re.sub(r"[A-Za-z][A-Za-z ]*[A-Za-z]", lambda m: CHINESE.get(m[0], m[0]), cell) for cell in row] for row in rows]


def orders_book(chance: random.Random) -> Workbook:
    """Another business, other column names, real dates: the North leads, the South overtakes the West in October."""
    book = Workbook()
    about = book.active
    about.title = "About"
    for line in ("Order ledger of a furniture maker", "One row per region on every second day", "Net revenue in US dollars"):
        about.append([line])
    sheet = book.create_sheet("Orders")
    sheet.append(["Order Day", "Region", "Category", "Units", "Net Revenue"])
    prices = {"Chairs": 89.0, "Tables": 240.0, "Shelves": 135.0}
    for offset in range(0, 91, 2):
        day = FIRST_DAY + timedelta(days=offset)
        for number, (region, sales) in enumerate(
            {"North": 3200, "South": 1500 + 22 * offset, "West": 2300, "East": 1700}.items()
        ):
            category = list(prices)[(offset + number) % len(prices)]
            revenue = round(sales * chance.uniform(0.9, 1.1), 2)
            sheet.append([day, region, category, round(revenue / prices[category]), revenue])
    return book


def undated(book: Workbook) -> bytes:
    """The workbook as a file without the time of its making."""
    saved, file = io.BytesIO(), io.BytesIO()
    book.save(saved)
    with zipfile.ZipFile(saved) as made, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name in made.namelist():
            content = made.read(name)
            if name == "docProps/core.xml":
                content = re.sub(rb"\d{4}-\d\d-\d\dT[\d:.]+Z", b"2026-11-30T00:00:00Z", content)
            out.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def main(folder: Path) -> None:
    """Write the three files into `folder`."""
    sales = sales_rows(random.Random(20261129))
    rows = [["date", "channel", "product", "orders", "amount"], *dirtied(list(sales))]
    (folder / "sales.csv").write_bytes(csv_text(rows).encode("utf-8"))
    (folder / "sales-gbk.csv").write_bytes(csv_text(in_chinese(rows)).encode("gb18030"))
    book = orders_book(random.Random(7))
    (folder / "orders.xlsx").write_bytes(undated(book))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
