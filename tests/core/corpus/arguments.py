"""Arguments of the kind that tools are called with; the corpus is made from them."""

from typing import Any

STORY = (
    "第一章　雨夜\n\n那是一个很长的雨夜。老周把账本摊在桌上，一页一页地核对：“三月，四百二十箱；四月，三百九十八箱。”\n"
    "窗外有人敲门，他没有抬头。\n\n第二章　来客\n\n来的人叫林晓，带着一只湿透的皮箱。她说：「我来查一笔旧账。」老周合上账本，"
    "叹了口气——这笔账，他等了整整十年。\n\t（未完待续）\n"
)

BASES: list[dict[str, Any]] = [
    {"city": "北京", "days": 3},
    {
        "path": "sales.csv",
        "group_by": ["region", "channel"],
        "measures": [{"column": "amount", "function": "sum"}],
        "limit": 20,
    },
    {
        "path": "data/销售 2026.xlsx",
        "where": [
            {"column": "日期", "operator": ">=", "value": "2026-09-01"},
            {"column": "amount", "operator": ">", "value": 1.5},
        ],
        "period": {"column": "日期", "by": "week"},
        "change": True,
        "sheet": None,
    },
    {
        "title": "Weekly sales report",
        "sections": [
            {
                "heading": "By channel",
                "text": "Online grew 12%, stores fell.\nSee the chart.",
                "chart": {
                    "kind": "line",
                    "labels": ["W36", "W37", "W38"],
                    "series": [{"name": "Online", "values": [120, 135.5, -4]}],
                },
                "bullets": ["Online: +12%", "Stores: -3%"],
            },
            {"heading": "Rows", "table": {"columns": ["Region", "Sum"], "rows": [["East", 10], ["West", 20]]}},
        ],
        "notes": ["2 rows without a date were left out."],
    },
    {"path": "notes/小说.md", "text": STORY, "overwrite": False},
    {"expression": "(1200 - 980) / 980 * 100"},
    {"domain": "example.com", "record_type": "MX"},
    {
        "path": "notes/todo.md",
        "text": "# To do\n\n- [ ] ask Li's team: {budget}, 'Q3'\n- [x] send \"draft\"\n",
        "overwrite": True,
    },
    {
        "title": "周报",
        "headline": "本周销售额为 ¥3,400.5，环比增长 8%。",
        "key_figures": [{"label": "销售额", "value": "¥3,400.5"}, {"label": "增长", "value": 0.08}],
        "sections": [{"heading": "渠道", "bullets": ["线上：增长", "门店：下降"]}],
        "language": "zh-CN",
    },
    {"text": "https://example.com/a?b=1&c=2#top", "file_name": "qr-会议", "format": "png"},
    {"filter": {"and": {"region": "East", "year": 2026}, "not": {"channel": "Store"}}, "options": {"strict": True}, "limit": 5},
    {"matrix": [[1, 2], [3, 4], [5, 6]], "names": ["a", "b"], "scale": 2},
]

VALUES: list[dict[str, Any]] = [
    {},
    {"path": "C:\\Users\\new\\temp\\报表.csv"},
    {"path": "\\\\server\\share\\t.xlsx"},
    {"emoji": "👩‍👩‍👧 好 🎉", "flag": "🇨🇳"},
    {"text": 'She said: "so, {this} is [it]", then left.'},
    {"text": "tab\tnew\nreturn\rbell\x07nul\x00del\x7f"},
    {"text": "\ufeff\u200bzero\u2028width\u2029"},
    {"regex": "^\\d+\\.\\w{2,}\\s*$", "latex": "\\frac{1}{2} \\beta"},
    {"numbers": [0, -0.5, 1e21, 1e-7, 12345678901234567890, 3.141592653589793]},
    {"deep": {"a": {"b": {"c": [[[{"d": [{}]}]]]}}}, "after": [[], {}, "", None]},
    {"code": "```json\n{'a': 1,}\n```", "more": "// no comment, /* none */ # either"},
    {"quoted": "“弯引号”与‘单引号’，全角：｛｝［］", "空键": {"": 0}},
    {"json": '{"inner": "{\\"more\\": 1}"}'},
    {"single": "it's 'quoted'", "words": "True None NaN"},
    {"a b": 1, "a-b": 2, "a.b": 3, "$ref": "#/x", "0": 4},
    {"html": '<p class="x">a &amp; b</p>', "csv": 'a;b\n1;"2"\n'},
    {"chinese": "，。：；？！、《》（）【】", "japanese": "カタカナ", "arabic": "مرحبا", "rtl": "\u202eabc"},
    {"truth": [True, False, None], "text": "true"},
    {"long": "很长的文字。" * 300},
    {"only_spaces": "   ", "empty": "", "dots": "..."},
    {"sql": "SELECT \"a\" FROM 'b' WHERE c LIKE '%\\_%' -- done"},
    {"math": "∑ x² ≤ √2 ≈ 1.414", "astral": "𝒳𠮷"},
    {"query": "请用 {x} 替换 [y]"},
    {"list": ["a", ["b", ["c", {"d": "e"}]], 7]},
]
