"""Answers of errands, composed from the results of the small tools in the user's language."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from zeno.i18n import catalogue, text
from zeno.models.offline.conversation import Exchange, Job

_LONGEST_FILE_EXCERPT = 6000
"""Characters of a file's text that an answer repeats."""


def told(exchange: Exchange, language: str) -> str:
    """What one finished call amounts to, for a person."""
    if not exchange.done:
        key = f"offline.answer.{exchange.result.outcome}"
        return text(language, key, tool=_called(exchange, language), reason=exchange.conclusion)
    data = exchange.data if isinstance(exchange.data, dict) else {}
    teller = _TELLERS.get(exchange.name)
    return (teller(exchange, data, language) if teller else "") or _conclusion(exchange)


def compared(exchanges: list[Exchange], language: str) -> str:
    """Which of several cities is the warmest, when the weather of several was asked for."""
    found = [
        (_number(e.data, "temperature"), str(e.data.get("city") or e.arguments.get("city")))
        for e in exchanges
        if isinstance(e.data, dict)
    ]
    warm = sorted((temperature, city) for temperature, city in found if temperature is not None)
    if len(warm) < 2:
        return ""
    (low, coldest), (high, warmest) = warm[0], warm[-1]
    difference = f"{round(high - low, 1):g}"
    key = "offline.weather.compared" if high > low else "offline.weather.equal"
    return text(language, key, warmest=warmest, coldest=coldest, difference=difference, high=f"{high:g}", low=f"{low:g}")


def listed(exchanges: list[Exchange], job: Job) -> str:
    """All results of the errands in one answer."""
    parts = [told(exchange, job.language) for exchange in exchanges]
    weather = [e for e in exchanges if e.name == "get_weather" and e.done]
    comparison = compared(weather, job.language) if len(weather) > 1 else ""
    return "\n\n".join(part for part in ([comparison, *parts] if comparison else parts) if part)


def _weather(exchange: Exchange, data: Mapping[str, Any], language: str) -> str:
    temperature = _number(data, "temperature")
    if temperature is None:
        return ""
    city = str(data.get("city") or exchange.arguments.get("city", ""))
    parts = [text(language, "offline.weather.now", city=city, temperature=f"{temperature:g}"), _sky(data, language)]
    parts += [_measured(data, name, language) for name in ("feels_like", "humidity", "wind")]
    told = text(language, "offline.words.pause").join(part for part in parts if part) + text(language, "offline.words.stop")
    days = [_day(day, language) for day in data.get("days") or () if isinstance(day, Mapping)]
    return "\n".join([told, *(f"- {day}" for day in days if day)])


def _day(day: Mapping[str, Any], language: str) -> str:
    low, high = _number(day, "lowest"), _number(day, "highest")
    if low is None or high is None:
        return ""
    told = text(language, "offline.weather.day", day=str(day.get("date", "")), low=f"{low:g}", high=f"{high:g}")
    parts = [told, _sky(day, language), _measured(day, "rain", language)]
    return text(language, "offline.words.pause").join(part for part in parts if part)


def _sky(report: Mapping[str, Any], language: str) -> str:
    """The sky in the user's language, else in the tool's own words."""
    words = str(report.get("sky") or "")
    return catalogue(language).get(f"offline.sky.{words.replace(' ', '_')}", words)


def _measured(report: Mapping[str, Any], name: str, language: str) -> str:
    value = _number(report, name)
    return "" if value is None else text(language, f"offline.weather.{name}", value=f"{value:g}")


def _number(data: Any, name: str) -> float | None:
    value = data.get(name) if isinstance(data, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def _dns(exchange: Exchange, data: Mapping[str, Any], language: str) -> str:
    values = data.get("values")
    domain, kind = str(exchange.arguments.get("domain")), str(exchange.arguments.get("record_type"))
    if not isinstance(values, list):
        return ""
    if not values:
        key = "offline.dns.none" if data.get("status") == "no_such_record" else "offline.dns.nxdomain"
        return text(language, key, domain=domain, kind=kind)
    listed = text(language, "offline.words.comma").join(str(value) for value in values)
    told = text(language, "offline.dns.found", domain=domain, kind=kind, count=len(values), values=listed)
    return told if data.get("ttl") is None else told + text(language, "offline.dns.ttl", ttl=data["ttl"])


def _sum(exchange: Exchange, data: Mapping[str, Any], _language: str) -> str:
    result, sign = data.get("result"), "=" if data.get("exact", True) else "≈"
    return "" if result is None else f"{exchange.arguments.get('expression')} {sign} {result}"


def _file(key: str) -> Callable[[Exchange, Mapping[str, Any], str], str]:
    def tell(exchange: Exchange, _data: Mapping[str, Any], language: str) -> str:
        files = exchange.result.files
        content = str(exchange.arguments.get("text", ""))
        if not files:
            return ""
        return "\n".join(text(language, key, path=part.path, size=part.size, text=content) for part in files)

    return tell


def _read(exchange: Exchange, data: Mapping[str, Any], language: str) -> str:
    # What stands above the lines of the file is said to the model.
    _, _, content = exchange.conclusion.partition("\n\n")
    path, following = exchange.arguments.get("path"), data.get("next_start_line")
    if not content:
        return text(language, "offline.read.empty", path=path)
    parts = [text(language, "offline.read.done", path=path), content[:_LONGEST_FILE_EXCERPT]]
    if left := len(content) - len(parts[1]):
        parts.append(text(language, "offline.read.cut", count=left))
    if following is not None:
        parts.append(text(language, "offline.read.more", line=following))
    return "\n\n".join(parts)


def _conclusion(exchange: Exchange) -> str:
    """The first sentence of a result nothing more is known about."""
    first = exchange.conclusion.split("\n")[0]
    match = re.match(r".+?[.!?。！？](?=\s|$)", first)
    return match[0] if match else first


def _called(exchange: Exchange, language: str) -> str:
    about = next((str(value) for value in exchange.arguments.values() if isinstance(value, str)), "")
    return text(language, "offline.words.call", tool=exchange.name, about=about[:80]) if about else exchange.name


_TELLERS: Mapping[str, Callable[[Exchange, Mapping[str, Any], str], str]] = {
    "get_weather": _weather,
    "query_dns": _dns,
    "calculate": _sum,
    "generate_qr_code": _file("offline.qr.done"),
    "write_temporary_file": _file("offline.write.done"),
    "read_file": _read,
}
