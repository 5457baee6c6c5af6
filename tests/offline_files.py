"""Tables for the tests of the offline model: other subjects, columns and languages than the examples, seeded."""

import csv
import random
from datetime import date, timedelta
from pathlib import Path

Rows = list[list[str]]


def staff() -> Rows:
    """No dates: one row per employee, with an identifier and a year that must not be added up."""
    chance = random.Random(1)
    rows = [["Employee ID", "Department", "City", "Start Year", "Monthly Salary", "Age"]]
    for number in range(90):
        department = chance.choice(["Engineering", "Support", "Finance", "People"])
        city = chance.choice(["Berlin", "Lyon", "Porto"])
        salary = chance.randrange(28, 96) * 100
        rows.append(
            [
                str(10_000 + number),
                department,
                city,
                str(chance.randrange(2010, 2026)),
                str(salary),
                str(chance.randrange(21, 64)),
            ]
        )
    return rows


def budget() -> Rows:
    """Monthly data with one date per month, twelve cost centres and two amounts."""
    chance = random.Random(2)
    rows = [["month", "cost_center", "expense", "budget"]]
    centres = [
        "Travel",
        "Rent",
        "Payroll",
        "Cloud",
        "Legal",
        "Training",
        "Events",
        "Hardware",
        "Software",
        "Catering",
        "Insurance",
        "Fleet",
    ]
    for number in range(18):
        label = f"{2025 + number // 12}-{number % 12 + 1:02d}"
        for rank, centre in enumerate(centres):
            planned = (rank + 1) * 1000
            rows.append([label, centre, f"{planned * chance.uniform(0.7, 1.3):.2f}", str(planned)])
    return rows


def orders_zh() -> Rows:
    """Chinese headers and values, unit prices that must not be added up, weekdays only, ends on a Wednesday."""
    chance = random.Random(3)
    rows = [["订单号", "下单日期", "省份", "品类", "数量", "单价", "金额"]]
    day, number = date(2026, 3, 2), 0
    while day <= date(2026, 5, 20):
        if day.weekday() < 5:
            for province in ("广东", "浙江", "四川"):
                number += 1
                units, price = chance.randrange(1, 9), chance.randrange(20, 400)
                rows.append(
                    [
                        f"S{number:05d}",
                        day.isoformat(),
                        province,
                        chance.choice(["家电", "服装", "食品"]),
                        str(units),
                        str(price),
                        f"￥{units * price:,}",
                    ]
                )
        day += timedelta(days=1)
    return rows


def traffic() -> Rows:
    """Daily figures of a website for forty days, with a percentage and a column of another name for a group."""
    chance = random.Random(4)
    rows = [["day", "landing_page", "device", "visits", "bounce_rate"]]
    for offset in range(40):
        day = date(2026, 6, 1) + timedelta(days=offset)
        for page in ("Home", "Pricing", "Docs", "Blog"):
            for device in ("mobile", "desktop"):
                visits = chance.randrange(50, 400) + offset * (5 if page == "Docs" else 0)
                rows.append([day.isoformat(), page, device, str(visits), f"{chance.randrange(200, 700) / 10}%"])
    return rows


FILES = {"staff.csv": staff, "budget.csv": budget, "订单明细.csv": orders_zh, "traffic.csv": traffic}


def write(workspace: Path, name: str) -> Rows:
    """Write one of `FILES` into the workspace; returns its rows."""
    rows = FILES[name]()
    with (workspace / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return rows
