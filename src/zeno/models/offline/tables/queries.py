"""The queries a plan needs, as arguments of `query_table`.

Equal plans make equal queries, so their results can be found again in the conversation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from zeno.models.offline.tables.plan import Measure, Plan
from zeno.models.offline.tables.profile import Column

Query = dict[str, Any]

MOST_PERIODS = 400
"""Rows of a query by period: more would not fit a chart, and a result may not grow without bound."""
MOST_GROUPS = 200
DAYS = "days_with_data"
TOP_GROUPS = 7
"""Groups drawn one by one when there are too many; the rest is drawn as one."""
MANY_GROUPS = 8


def overall(plan: Plan, measure: Measure) -> Query:
    """The figure over everything."""
    return _query(plan, measures=[measure.asked])


def by_group(plan: Plan, measure: Measure, group: Column) -> Query:
    """The figure of each group, the greatest first."""
    descending = plan.ranking != "least" or plan.report
    return _query(
        plan, group_by=[group.name], measures=[measure.asked], order_by=measure.name, descending=descending, limit=MOST_GROUPS
    )


def by_groups(plan: Plan, groups: Sequence[Column]) -> Query:
    """All figures of each combination of groups."""
    measures = [measure.asked for measure in plan.measures]
    descending = plan.ranking != "least"
    names = [group.name for group in groups]
    return _query(plan, group_by=names, measures=measures, order_by=plan.measure.name, descending=descending, limit=MOST_GROUPS)


def by_period(plan: Plan, measure: Measure) -> Query:
    """The figure of each period, and on how many days of it there is data."""
    assert plan.time is not None  # noqa: S101 - callers ask for periods only when there is a time column
    days = {"function": "count_distinct", "column": plan.time.name, "name": DAYS}
    return _query(plan, period=_period(plan), measures=[measure.asked, days], order_by=plan.every, limit=MOST_PERIODS)


def grid(plan: Plan, measure: Measure, group: Column, only: Sequence[str] | None) -> Query:
    """The figure of each group in each period, a column per group; `only` limits it to some groups."""
    only_some = [{"column": group.name, "op": "in", "value": list(only)}] if only is not None else []
    where = [*plan.where, *only_some]
    return _query(
        plan,
        where=where or None,
        period=_period(plan),
        group_by=[group.name],
        measures=[measure.asked],
        pivot=group.name,
        order_by=plan.every,
        limit=MOST_PERIODS,
    )


def values(profile_path: str, sheet: str | None, column: Column) -> Query:
    """The values that occur in a column."""
    asked = {
        "path": profile_path,
        "group_by": [column.name],
        "measures": [{"function": "count", "name": "count"}],
        "limit": 500,
    }
    return asked | ({"sheet": sheet} if sheet else {})


def _period(plan: Plan) -> Mapping[str, Any]:
    assert plan.time is not None  # noqa: S101 - callers ask for periods only when there is a time column
    return {"column": plan.time.name, "every": plan.every}


def _query(plan: Plan, **asked: Any) -> Query:
    query: Query = {"path": plan.profile.path}
    if plan.profile.sheet:
        query["sheet"] = plan.profile.sheet
    if plan.where:
        query["where"] = list(plan.where)
    return query | {name: value for name, value in asked.items() if value not in (None, False)}
