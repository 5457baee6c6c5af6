"""How a sentence asks about a table: grain, chart, function, ranking, and the phrases that stand where a group is named.

Only words; which columns they mean is decided elsewhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from zeno.models.offline.tables.periods import Every

Function = Literal["sum", "mean", "median", "min", "max", "count", "count_distinct"]
ChartKind = Literal["line", "bar", "pie"]

_GRAINS: tuple[tuple[Every, re.Pattern[str]], ...] = (
    ("day", re.compile(
        r"\bdaily\b|\b(?:per|by|each|every|which|what) day\b|day[- ]by[- ]day|每日|每天|日报|按日|"
        r"按天|逐日|哪[一]?天|日销售")),
    ("week", re.compile(
        r"\bweekly\b|\b(?:per|by|each|every|which|what) week\b|week[- ](?:by|over|on)[- ]week|"
        r"每周|周报|按周|逐周|分周|各周|周度|哪[一]?周|星期|周环比")),
    ("month", re.compile(
        r"\bmonthly\b|\b(?:per|by|each|every|which|what) month\b|month[- ](?:by|over|on)[- ]month|"
        r"每个?月|月报|按月|逐月|分月|各月|月度|哪[一]?个?月|月环比")),
    ("quarter", re.compile(
        r"\bquarterly\b|\b(?:per|by|each|every|which|what) quarter\b|每个?季|季报|按季|各季|季度(?:报|"
        r"分析|汇总)|哪[一]?个?季度")),
    ("year", re.compile(
        r"\b(?:yearly|annual|annually)\b|\b(?:per|by|each|every|which|what) year\b|每年|年报|按年|"
        r"逐年|各年|年度|哪[一]?年")),
)  # fmt: skip
_GRAIN_AFTER_AND = re.compile(r"\b(?:by|per)\b[^.;?!\n]*?\b(?:and|,)\s*(day|week|month|quarter|year)\b")
_TREND = re.compile(
    r"\btrends?\b|over time|\bdevelop\w*|time series|evolution|\bgr[eo]w\w*|\b(?:in|de)creas\w*|"
    r"\bdeclin\w*|\brising\b|\bfalling\b|走势|趋势|变化|环比|增长"
)
_CHARTS: tuple[tuple[ChartKind, re.Pattern[str]], ...] = (
    ("pie", re.compile(r"\bpie\b|饼图|饼状图|环形图")),
    ("bar", re.compile(r"\bbars?\b|\bcolumn charts?\b|\bhistogram\b|柱状图|柱形图|条形图|直方图")),
    ("line", re.compile(r"\blines?\b (?:chart|graph|plot)s?|\blinegraph\b|折线图|曲线图|线图")),
)
_FUNCTIONS: tuple[tuple[Function, re.Pattern[str]], ...] = (
    ("median", re.compile(r"\bmedian\b|中位数")),
    ("mean", re.compile(r"\b(?:average|averages|averaged|mean|avg)\b|平均|均值|人均|单均|客单价")),
    ("max", re.compile(r"\b(?:maximum|max|largest single|biggest single|peak)\b|最大值|单笔最[大高]")),
    ("min", re.compile(r"\b(?:minimum|min|smallest single)\b|最小值|单笔最[小低]")),
    ("sum", re.compile(r"\b(?:total|totals|sum|overall|altogether)\b|合计|总计|总和|总额|一共|总共|求和")),
)
_COUNTED = re.compile(
    r"(?:\bhow many|\bnumber of|\bcount(?: of)?|#\s*of)\s+(?:the\s+|different\s+|distinct\s+|"
    r"unique\s+)*(?P<en>[a-z][a-z _-]*?)?"
    r"(?=\s*(?:$|[?.,;]|\b(?:is|are|was|were|do|does|did|have|has|had|there|per|by|in|on|for|"
    r"from|of|with|since|each|sold|made|we|live|work)\b))"
    r"|(?:的|^|[，,。\s])(?P<before>[\u4e00-\u9fff]{1,6}?)(?:一共|总共)?有?(?:多少|几)(?P<end>[个条单笔件台套行位家种次款名])?(?=[?？。]|"
    r"$)"
    r"|有?(?:多少|几)(?P<unit>[个条单笔件台套行位家种次款名])?(?![钱元])(?P<after>[\u4e00-\u9fff]{0,4})"
    r"|(?P<rows>记录数|行数|条数|计数)"
)
_UNIT_WORDS = {"件": "数量", "台": "数量", "套": "数量", "单": "订单数", "笔": "订单数"}
_FEW = re.compile(
    r"(?:least|lowest|youngest|cheapest|worst|fewest|smallest|weakest|bottom|slowest)|最少|最低|最差|最小|垫底|倒数|末尾"
)
_MANY = re.compile(
    r"\b(?:most|highest|oldest|best|largest|biggest|strongest|leading|top|rank\w*|sort\w*)\b|最多|"
    r"最高|最好|最大|排名|排行|排序|领先|第一|前\s*[\d一两二三四五六七八九十]+|从高到低"
)
_TOP = re.compile(
    r"(?:\b(?:top|bottom|best|worst|first|leading)\s+(\d+|three|five|ten)\b|\b(\d+)\s+(?:best|"
    r"worst|highest|lowest|largest|biggest|smallest)|(?:前|排名前|倒数|最[高低多少好差]的)\s*(\d+|"
    r"[一两二三四五六七八九十])(?!\s*[天周月年季日]))"
)
_NUMBER_WORDS = {"three": 3, "five": 5, "ten": 10, "两": 2} | {
    word: number for number, word in enumerate("一二三四五六七八九十", 1)
}
_SHARE = re.compile(r"\b(?:share|shares|proportion|percentage of|contribution)\b|占比|份额|比重|构成")

_LEADS = (
    r"(?:grouped by|group by|broken down by|break(?:ing)? down by|split by|segmented by|by|"
    r"per|for each|for every|in each|each|every|across(?: all)?|among)"
)
_STOP = (
    r"(?=\s*(?:$|[,.;:?!()\n]|\b(?:and|or|with|in|for|from|since|to|of|using|as|per|by|on|"
    r"over|then|report|reports|chart|please|only|until|before|after|"
    r"during|sorted|ordered|who|that|the|is|are|was|were|has|had|have|did|do|does|sold|sell|"
    r"sells|made|make|word|weekly|monthly|daily|quarterly|this|last)\b))"
)
_ENGLISH_GROUP = re.compile(rf"\b{_LEADS}\s+(?:the\s+|each\s+|individual\s+|different\s+)?([a-z][a-z0-9 _/-]*?){_STOP}")
_ENGLISH_MORE = re.compile(rf"\s*(?:,\s*and|,|and|&)\s+(?:by\s+|per\s+)?(?:the\s+)?([a-z][a-z0-9 _/-]*?){_STOP}")
_WISE = re.compile(r"([a-z][a-z_]*)[- ]?wise\b")
_QUESTIONED = re.compile(
    r"\b(?:which|what)\s+([a-z][a-z_ -]*?)(?=\s+(?:is|are|was|were|has|had|have|did|do|does|"
    r"sold|sells?|made|makes?|brings?|brought|earn\w*|gr[eo]w\w*|perform\w*|contribut\w*|generat\w*|"
    r"with|and|fell|lost|r[io]se|drop\w*)\b|\?)"
)
_CHINESE_LEAD = re.compile(r"按照?|根据|分(?!析|别|布|组|钟|享)|各个?|每个|每一?[位名家类种款]|不同|哪一?[个些类种家款位名]|以")
_CHINESE_END = re.compile(
    r"统计|汇总|分组|分析|生成|进行|对比|比较|维度|画|展示|排[名序行]|制作|写|输出|拆分|划分|"
    r"分布|占比|卖|最|做|出|来|看|的|和|与|及|，|,|。|；|、|？|\?|\s|销售|总|平均|合计|贡献|"
    r"增长|表现|为|$"
)
_NO_GROUP = re.compile(
    r"(?:me|us|hand|default|email|mail|myself|you|file|date|time|the|way|month end|end|now|"
    r"today|要求|格式|模板|顺序|时间|日期|如下|我|上述|文件|表格?|数据)"
)
_ASKING = re.compile(
    r"\b(?:report|word|document|docx|chart|make|create|generate|give|show|please|write|build|"
    r"draw|plot|the|for|and|with|from|per|"
    r"each|what|which|how|much|many|are|was|were|did|does|only|this|that|file|table|data|sold|sell|want|need|can|you|all|our|"
    r"using|use|into|there|have|has|had|between|compare|summar[a-z]+|analy[sz][a-z]+|overview)\b"
    r"|报告|文档|图表?|生成|制作|请|帮我|给我|一份|一个|表格|文件|数据|根据|分析|查询|多少|什么|怎么样|情况|并|用"
)
_TIME_WORD = re.compile(r"(?:calendar )?(?:day|week|month|quarter|year)s?|(?:每个?)?(?:周|星期|月份?|日|天|季度?|年)(?:份|度)?")


@dataclass(frozen=True)
class GroupPhrase:
    """Words where a group is named. `sure` ones follow "by" or "按" and must mean something; others may be anything."""

    words: str
    start: int
    sure: bool


def grain(said: str) -> Every | None:
    """The grain asked for, `None` when the sentence does not say."""
    for every, pattern in _GRAINS:
        if pattern.search(said):
            return every
    later = _GRAIN_AFTER_AND.search(said)
    return next((every for every, _ in _GRAINS if later and later[1] == every), None)


def chart(said: str) -> ChartKind | None:
    """The kind of chart asked for."""
    return next((kind for kind, pattern in _CHARTS if pattern.search(said)), None)


def function(said: str) -> Function | None:
    """The function asked for; counting is read by `counted`."""
    return next((name for name, pattern in _FUNCTIONS if pattern.search(said)), None)


def counted(said: str) -> str | None:
    """What is to be counted, "" for something unnamed, `None` when nothing is."""
    match = _COUNTED.search(said)
    if match is None:
        return None
    noun = match["en"] or match["after"] or match["before"] or ""
    return _UNIT_WORDS.get(match["unit"] or match["end"] or "", noun.strip())


def ranking(said: str) -> Literal["most", "least"] | None:
    """Whether the ends of an order are asked for, and which."""
    if _FEW.search(said):
        return "least"
    return "most" if _MANY.search(said) else None


def top(said: str) -> int | None:
    """How many of a ranking are asked for."""
    match = _TOP.search(said)
    word = next((group for group in match.groups() if group), "") if match else ""
    return (_NUMBER_WORDS.get(word) or int(word)) if word else None


def speaks_of_trend(said: str) -> bool:
    """Whether development over time is asked for without naming a grain."""
    return bool(_TREND.search(said))


def group_phrases(said: str) -> list[GroupPhrase]:
    """The phrases that stand where a group is named, in order; words of time are left to `grain`."""
    found = [*_english_phrases(said), *_chinese_phrases(said)]
    kept = (phrase for phrase in found if phrase.words and not _NO_GROUP.fullmatch(phrase.words) and not is_time(phrase.words))
    return sorted(kept, key=lambda phrase: phrase.start)


def plain_words(said: str) -> list[str]:
    """What is left of a sentence when its words of grain, function, chart, ranking and grouping are taken away."""
    patterns = [pattern for _, pattern in (*_GRAINS, *_FUNCTIONS, *_CHARTS)] + [_TREND, _SHARE, _FEW, _MANY, _TOP, _ASKING]
    for pattern in patterns:
        said = pattern.sub(" ", said)
    found = re.findall(r"[a-z]{3,}|[\u4e00-\u9fff]{2,}", _CHINESE_LEAD.sub(" ", _CHINESE_END.sub(" ", said)))
    return [word for word in found if not _NO_GROUP.fullmatch(word)]


def is_time(words: str) -> bool:
    """Whether the words name a period rather than a thing."""
    return bool(_TIME_WORD.fullmatch(words))


def _english_phrases(said: str) -> Iterator[GroupPhrase]:
    for match in _ENGLISH_GROUP.finditer(said):
        yield GroupPhrase(match[1].strip(), match.start(1), sure=True)
        more = _ENGLISH_MORE.match(said, match.end(1))
        while more:
            yield GroupPhrase(more[1].strip(), more.start(1), sure=False)
            more = _ENGLISH_MORE.match(said, more.end(1))
    for pattern in (_WISE, _QUESTIONED):
        for match in pattern.finditer(said):
            yield GroupPhrase(match[1].strip(), match.start(1), sure=pattern is _WISE)


def _chinese_phrases(said: str) -> Iterator[GroupPhrase]:
    for match in _CHINESE_LEAD.finditer(said):
        start, lead = match.end(), match[0]
        while True:
            end = _CHINESE_END.search(said, start)
            words = said[start : end.start() if end else len(said)]
            yield GroupPhrase(words.strip(), start, sure=lead in ("按", "按照") and start == match.end())
            if not end or end[0] not in ("和", "与", "及", "、") or len(words) > 8:
                break
            start = end.end()
