"""What a request is: small talk, work on a table, errands for tools, or something beyond a fallback without a language model.

Plain words decide first. When they do not, the request is compared by meaning with the descriptions of the tools on offer and
with a few sentences of each kind; only then is the embedder loaded.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from zeno.core.ports import ToolSpec
from zeno.models.embedding import BundledEmbedder
from zeno.models.offline.conversation import Job
from zeno.models.offline.errands import clearly_asked
from zeno.models.offline.sentence import is_table, paths, without_addresses
from zeno.models.offline.tables.columns import mentions
from zeno.models.offline.tables.filters import by_value
from zeno.models.offline.tables.profile import profile_of

Kind = Literal["talk", "abilities", "thanks", "table", "errands", "beyond"]

TABLE_TOOLS = ("read_table", "query_table", "generate_word_report")

_GREETING = re.compile(
    r"\s*(?:hi|hello|hey|good (?:morning|afternoon|evening)|你好|您好|嗨|哈喽|早上好|下午好|"
    r"晚上好|在吗|早)(?:[\s,，!！.。~～]*(?:there|zeno|all|everyone|啊|呀|吗)?[\s!！.。?？~～]*)",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\s*(?:thanks?(?: you)?(?: (?:so|very) much| a lot)?|many thanks|cheers|great|bye|goodbye|"
    r"谢谢你?|多谢|感谢|辛苦了|再见|好的谢谢)[\s!！.。~～]*",
    re.IGNORECASE,
)
_ABILITIES = re.compile(
    r"what can you do|what (?:are|do) you (?:able|capable|offer)|who are you|what are you|"
    r"how (?:do|can) (?:i|you) (?:use|work)|^\s*help\s*[!?.]*\s*$|你(?:能|会|可以)(?:做|干|"
    r"帮我做)(?:些|点)?(?:什么|啥)|你是谁|你是什么|有什么功能|有哪些功能|怎么用你?|^\s*帮助\s*$|"
    r"are you (?:a|an) (?:real )?(?:ai|language model|llm|gpt)",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    r"\b(?:poem|haiku|lyrics|novel|essay|story|joke)\b|\btranslate\b|\btranslation\b|\bproofread|"
    r"\brewrite\b|\bparaphrase\b|write (?:me )?(?:a |some |the )?(?:\w+ )?(?:code|program|"
    r"function|script|email|letter|song|speech)|翻译|写(?:一)?(?:首|篇|封|段)|作诗|诗|笑话|"
    r"故事|作文|润色|改写|编程|写代码|写(?:个|一个)?(?:程序|函数|脚本)",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\breports?\b|\bword\b|\bdocx?\b|\bdocument\b|周报|月报|日报|季报|年报|报告|报表|文档|简报", re.IGNORECASE
)
_ANALYSIS = re.compile(
    r"\b(?:summari[sz]e|summary|analy[sz]\w+|charts?|plot|graph|trends?|total|totals|sum|average|"
    r"avg|mean|median|top|bottom|ranking|rank|breakdown|"
    r"break down|group(?:ed)? by|by (?:week|month|quarter|year|day)|weekly|monthly|quarterly|"
    r"daily|yearly|per|pivot|columns?|rows?|how many|"
    r"how much|which|highest|lowest|most|least|best|worst|compare|overview|dashboard|statistics|"
    r"stats|table|spreadsheet|dataset|sales|revenue)\b|"
    r"分析|汇总|统计|图|趋势|合计|总|平均|均值|中位数|排名|排行|前\s*[\d一二三四五六七八九十]+|"
    r"最高|最低|最多|最少|最好|最差|哪个|哪些|哪一|多少|几个|对比|占比|分组|"
    r"按|各|每(?:周|月|日|天|个|季)|表格|数据|列|行|销售|营收|环比|走势",
    re.IGNORECASE,
)
_POLITE = re.compile(r"\b(?:please|could you|can you)\b|请|麻烦|帮我|帮忙|给我", re.IGNORECASE)
_VERBS = frozenset({"get", "list", "find", "make", "create", "search", "query", "generate", "show", "read", "write", "fetch"})
_NEAR_ENOUGH = 0.38
_NEAR_FOR_A_STRANGER = 0.27
_NAMED = 0.2
"""Cosines of the bundled embedder; they separate right from wrong choices on sentences kept apart from the examples below."""


_EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "get_weather": ("Will it rain in Paris tomorrow?", "How cold is it in Oslo?",
        "Do I need a coat today in Rome?", "上海要带伞吗", "明天广州多少度"),
    "query_dns": ("Which IP address does this domain point to?", "Who handles mail for this domain?",
        "这个域名指向哪个地址", "查询网站的域名解析"),
    "calculate": ("What do you get if you multiply these numbers?", "Work out this sum", "帮我算一下", "这道算术题等于多少"),
    "generate_qr_code": ("Make a code people can scan with their phone", "做一个可以扫的码"),
    "read_file": ("Show me what is written in this text file", "打开这个文本文件看看"),
    "write_temporary_file": ("Put this text into a new file", "把这段话存成文件"),
    "table": ("Which group sold the most?", "Summarise the spreadsheet", "Make a report with charts from my data",
        "看看这份表格里的数据", "业绩怎么样"),
    "talk": ("How are you today?", "Nice to meet you", "最近怎么样", "很高兴认识你"),
    "abilities": ("What are you able to help me with?", "How do you work?", "你有什么本事", "介绍一下你自己"),
    "beyond": (
        "Write me a poem about autumn", "Translate this sentence into French", "Who won the world cup?",
        "Explain quantum physics",
        "What is the capital of Australia?", "Give me advice about my career",
        "写一首关于春天的诗", "把这句话翻译成英文", "讲个笑话", "为什么天空是蓝色的", "推荐几本书",
    ),
}  # fmt: skip

_TOOL_EXAMPLES = frozenset(_EXAMPLES) - {"table", "talk", "abilities", "beyond"}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a job is. `tools` are the tools to call for errands; `unserved` says that part of the request is beyond us."""

    kind: Kind
    tools: tuple[str, ...] = ()
    unserved: bool = False


def choose(job: Job, tools: Sequence[ToolSpec], embedder: BundledEmbedder) -> Choice:
    """Decide what the job is. Loads the embedder only when words do not decide."""
    offered = {spec.name for spec in tools}
    said, about_table = job.said, has_table(job)
    asked = clearly_asked(job.text, about_table=about_table) or clearly_asked(said, about_table=about_table)
    small = tuple(name for name in asked if name in offered or not tools)
    unserved = bool(_BEYOND.search(without_addresses(job.text)))
    figures = _names_table(job) or wants_analysis(said) or _names_column(job)
    if about_table and figures and (_names_table(job) or not small):
        return Choice(kind="table", tools=small)
    if small:
        return Choice(kind="errands", tools=small, unserved=unserved)
    if talk := _small_talk(job.text):
        return Choice(kind=talk)
    if _REPORT.search(said) and not unserved:
        return Choice(kind="table")
    others = tuple(spec for spec in tools if spec.name not in TABLE_TOOLS)
    return _by_meaning(job, others, embedder, unserved=unserved)


def starts_anew(said: str) -> bool:
    """Whether a text that follows a question of ours is a request of its own rather than the answer."""
    if _ABILITIES.search(said):
        return True
    words = len(re.findall(r"[A-Za-z]+|[\u3400-\u9fff]", without_addresses(said)))
    return words > 3 and bool(
        clearly_asked(said, about_table=False) or _BEYOND.search(said) or (_REPORT.search(said) and paths(said))
    )


def wants_report(said: str) -> bool:
    """Whether a document is asked for, not only an answer."""
    return bool(_REPORT.search(without_addresses(said)))


def wants_analysis(said: str) -> bool:
    """Whether the words are about figures."""
    words = without_addresses(said)
    return bool(_ANALYSIS.search(words) or _REPORT.search(words))


def has_table(job: Job) -> bool:
    """Whether there is a table the job can be about: named, attached, or used earlier in the conversation."""
    return any(is_table(path) for path in (*paths(job.said, job.files), *job.files))


def _names_table(job: Job) -> bool:
    return any(is_table(path) for path in (*paths(job.said, job.files), *job.attached))


def _names_column(job: Job) -> bool:
    """Whether the words name a column or a value of the table used before in this conversation."""
    used = next((e for e in reversed((*job.past, *job.exchanges)) if e.name == "read_table" and e.done), None)
    profile = profile_of(used.data) if used else None
    words = without_addresses(job.said).lower()
    if profile is None:
        return False
    values = {column.name: [str(value) for value in column.examples] for column in profile.of_type("text")}
    return bool(mentions(words, profile.columns) or by_value(words, values, profile.columns))


def _small_talk(said: str) -> Kind | None:
    if _GREETING.fullmatch(said):
        return "talk"
    if _THANKS.fullmatch(said):
        return "thanks"
    return "abilities" if _ABILITIES.search(said) else None


def _by_meaning(job: Job, tools: Sequence[ToolSpec], embedder: BundledEmbedder, *, unserved: bool) -> Choice:
    if not job.text.strip():
        return Choice(kind="talk")
    label = _nearest(job.text, tools, embedder)
    if label in (None, "beyond") or (unserved and label in _EXAMPLES):
        searches = tuple(spec.name for spec in tools if spec.action == "RAG_RETRIEVE")
        return Choice(kind="errands", tools=searches[:1]) if searches and not unserved else Choice(kind="beyond")
    assert label is not None  # noqa: S101 - told to the type checker, which does not read the line above
    kinds: Mapping[str, Kind] = {"talk": "talk", "abilities": "abilities", "table": "table", "beyond": "beyond"}
    return Choice(kind=kinds[label]) if label in kinds else Choice(kind="errands", tools=(label,))


def _nearest(said: str, tools: Sequence[ToolSpec], embedder: BundledEmbedder) -> str | None:
    """The label whose sentences mean most nearly what is said, `None` when none comes near.

    A tool that has no examples here is only known by its description, which lies farther from any request than an example
    does: it is held to a lower bar and a word of its name in the request counts for it.
    """
    scores = _scores(_POLITE.sub("", said) or said, _candidates(tools), embedder)
    strangers = {
        spec.name: scores[spec.name] + _NAMED * _is_named(spec.name, said) for spec in tools if spec.name not in _EXAMPLES
    }
    best = max(scores, key=lambda label: scores[label])
    if strangers:
        stranger = max(strangers, key=lambda name: strangers[name])
        bar = _NEAR_ENOUGH if best in ("talk", "abilities", "beyond") else _NEAR_FOR_A_STRANGER
        if strangers[stranger] >= max(bar, _NEAR_FOR_A_STRANGER) and (
            best not in _TOOL_EXAMPLES or strangers[stranger] > scores[best] - _NAMED / 2
        ):
            return stranger
    return best if scores[best] >= _NEAR_ENOUGH else None


def _is_named(tool: str, said: str) -> bool:
    words = [word.rstrip("s") for word in re.split(r"[^A-Za-z]+", tool.lower()) if len(word) > 3]
    return any(re.search(rf"\b{re.escape(word)}", said.lower()) for word in words if word not in _VERBS)


def _candidates(tools: Sequence[ToolSpec]) -> dict[str, list[str]]:
    """Sentences to compare with, by label: the examples of each kind and the descriptions of the tools."""
    names = {spec.name for spec in tools}
    kinds = ("table", "talk", "abilities", "beyond")
    candidates = {label: list(examples) for label, examples in _EXAMPLES.items() if label in names or label in kinds}
    for spec in tools:
        sentences = [sentence for sentence in re.split(r"(?<=[.!?。])\s+", spec.description) if sentence.strip()]
        candidates.setdefault(spec.name, []).extend((re.sub(r"[_-]+", " ", spec.name), *sentences[:4]))
    return candidates


def _scores(said: str, candidates: Mapping[str, Sequence[str]], embedder: BundledEmbedder) -> dict[str, float]:
    labels = [label for label, sentences in candidates.items() for _ in sentences]
    vectors = embedder.embed([said, *(sentence for sentences in candidates.values() for sentence in sentences)])
    scores: dict[str, float] = {}
    for label, score in zip(labels, vectors[1:] @ vectors[0], strict=True):
        scores[label] = max(scores.get(label, -1.0), float(score))
    return scores
