"""Cities and days in a question about the weather, in Chinese and English."""

import re

_ENGLISH_PLACE = re.compile(r"\b(?:in|for|at|of|between|around|near|to)\s+(.+)", re.IGNORECASE)
_ENGLISH_NOISE = re.compile(
    r"\b\d+[\s-]*days?\b|\b(?:please|could|can|would|will|you|tell|give|show|me|us|check|look|up|get|find|what|"
    r"whats|how|is|are|it|its|it's|be|there|"
    r"the|a|an|of|in|for|at|and then|current|currently|weather|forecasts?|temperatures?|conditions?|"
    r"outlook|today|tonight|tomorrow|"
    r"yesterday|now|right|next|coming|this|week|weekend|days?|day|over|during|report|compare|"
    r"comparison|comparing|difference|between|"
    r"do|does|i|we|need|an?|umbrella|rain|raining|rainy|snow|snowing|sunny|hot|cold|warm|wet|windy|like|going|both|city|cities|"
    r"hi|hello|thanks|instead|rather|no|yes|not|then|kindly|also|about|query|fetch|want|know|to|on|with|my|trip|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|which|warmer|colder|hotter|"
    r"cooler|wetter|should|take|see)\b|'s\b|\?|!",
    re.IGNORECASE,
)
_ENGLISH_SPLIT = re.compile(
    r"\s*(?:,|;|/|&|\bor\b|\band\b|\bvs\.?|\bversus\b|\bplus\b|\bas well as\b|\bthan\b)\s*", re.IGNORECASE
)
_CLAUSE_END = re.compile(
    r"[.;?!](?:\s|$)|[。；？！\n]|[，,]?\s*(?:顺便|然后|并且|并|再|另外|同时|还要)(?=.)|[，,]\s*(?=算|"
    r"计算|生成|查|读|写|做)|,?\s*\b(?:and|then|also)\s+(?:then\s+)?"
    r"(?=(?:also|please|calc\w*|compute|work|look|make|create|generate|write|save|read|query|"
    r"what|how|tell|show|find|resolve|send|give)\b)",
    re.IGNORECASE,
)
_CHINESE_NOISE = re.compile(
    r"请问|请|麻烦|帮我|帮忙|给我|告诉我|我?想知道|我要去|我想去|我想|我要|^去|^我|查询|查一下|"
    r"查一查|查查|^查|看一下|看看|^看|对比|比较|比一比|一下|"
    r"当前|现在|今天|大后天|明天|后天|今晚|今日|明日|本周|这周|周末|最近|未来|接下来|[一二两三四五六七\d]+\s*天|一周|的|"
    r"天气|预报|情况|气温|温度|多少度|多少|怎么样|怎样|如何|什么样|是什么|都?会不会|要不要|"
    r"是不是|都?会?(?:下雨|下雪|有雨|有雪)|带伞|需要|"
    r"冷不冷|热不热|(?:更|很|有多|最)(?:冷|热|暖和?|凉快?)|[冷热](?=[吗？?]|$)|吗|呢|呀|啊|吧|哪个|哪里|哪儿|"
    r"城市|两地|两个|分别|各是|是(?=[？?]|$)|都是|几度|差异|区别"
)
_CHINESE_SPLIT = re.compile(r"[、，,/]|(?<=\S)[和与跟及](?=\S)|还有|以及|\s+|vs\.?", re.IGNORECASE)
_WEATHER_WORD = re.compile(
    r"weather|forecast|temperature|umbrella|rain|snow|how (?:hot|cold|warm)|天气|气温|温度|预报|下雨|下雪|带伞|冷|热|度",
    re.IGNORECASE,
)
_CHINESE_NUMBERS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7}
_WORD_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_DAYS = re.compile(
    r"(\d+|one|two|three|four|five|six|seven)[\s-]*days?\b|([一二两三四五六七]|\d+)\s*[天日](?!气)", re.IGNORECASE
)
_WEEK = re.compile(r"\bweek\b|一周|本周|这周|周末|weekend", re.IGNORECASE)
_IN_TWO_DAYS = re.compile(r"后天|day after tomorrow", re.IGNORECASE)
_TOMORROW = re.compile(r"明天|明日|tomorrow", re.IGNORECASE)
_LONGEST_FORECAST = 7


def cities(text: str) -> tuple[str, ...]:
    """The cities named in the clause about the weather, in order."""
    return _named_in(_weather_clauses(text)) or _named_in([text])


def _named_in(clauses: list[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for clause in clauses:
        names = _chinese(clause) if re.search(r"天气|气温|温度|下雨|下雪|预报|度|冷|热|伞", clause) else _english(clause)
        found.update(dict.fromkeys(names))
    return tuple(found)


def answered(text: str) -> tuple[str, ...]:
    """The cities in a short answer to "which city?"."""
    if re.search(r"[\u3400-\u9fff]", text):
        return tuple(_chinese(text))
    return tuple(_english("in " + text))


def days(text: str) -> int | None:
    """How many days of forecast the text asks for, counted from today; `None` when it does not say."""
    match = _DAYS.search(text)
    if match:
        word = (match[1] or match[2]).lower()
        count = _WORD_NUMBERS.get(word) or _CHINESE_NUMBERS.get(word) or int(word)
        return min(max(count, 1), _LONGEST_FORECAST)
    if _WEEK.search(text):
        return _LONGEST_FORECAST
    if _IN_TWO_DAYS.search(text):
        return 3
    return 2 if _TOMORROW.search(text) else None


def _weather_clauses(text: str) -> list[str]:
    clauses = [clause for clause in _CLAUSE_END.split(text) if clause]
    return [clause for clause in clauses if _WEATHER_WORD.search(clause)]


def _english(clause: str) -> list[str]:
    place = _ENGLISH_PLACE.search(clause)
    rest = place[1] if place and not _names_only(clause[: place.start()]) else clause
    pieces = (_ENGLISH_NOISE.sub(" ", piece) for piece in _ENGLISH_SPLIT.split(rest))
    return [name for piece in pieces if _is_name(name := " ".join(piece.split()).strip(" .,:"))]


def _names_only(text: str) -> bool:
    """Whether what stands before the preposition holds a place by itself: "London weather for 3 days"."""
    rest = _ENGLISH_NOISE.sub(" ", text)
    return any(word[:1].isupper() for word in rest.split())


def _is_name(text: str) -> bool:
    return bool(text) and not any(character.isdigit() for character in text) and len(text.split()) <= 4


def _chinese(clause: str) -> list[str]:
    pieces = _CHINESE_SPLIT.split(_CHINESE_NOISE.sub(" ", clause))
    return [name for piece in pieces if _is_name(name := piece.strip(" ？?。！!：:“”\"'"))]
