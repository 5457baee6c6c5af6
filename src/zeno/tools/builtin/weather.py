"""The weather of a city, from a service with the interface of Open-Meteo. Knows its two addresses, geocoding and forecast.

Interface: https://open-meteo.com/en/docs and https://open-meteo.com/en/docs/geocoding-api.
"""

import re
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Struct

from zeno.core.errors import ToolFailed
from zeno.tools.function import FunctionTool, tool

if TYPE_CHECKING:
    from httpx2 import AsyncClient

_MOST_BYTES = 1024 * 1024
"""Of one response; a week's forecast has about 2 KiB."""
_SECONDS = 10.0
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_CURRENT = "temperature_2m,apparent_temperature,relative_humidity_2m,wind_speed_10m,weather_code"
_DAILY = "temperature_2m_max,temperature_2m_min,precipitation_sum,weather_code"
_SKY = {
    0: "clear sky",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "freezing fog",
    51: "light drizzle",
    53: "drizzle",
    55: "dense drizzle",
    56: "light freezing drizzle",
    57: "freezing drizzle",
    61: "light rain",
    63: "rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "freezing rain",
    71: "light snow",
    73: "snow",
    75: "heavy snow",
    77: "snow grains",
    80: "light rain showers",
    81: "rain showers",
    82: "violent rain showers",
    85: "light snow showers",
    86: "heavy snow showers",
    95: "thunderstorm",
    96: "thunderstorm with light hail",
    99: "thunderstorm with heavy hail",
}
"""The codes of WMO table 4677 that Open-Meteo uses, in words."""


class _Place(Struct):
    name: str
    latitude: float
    longitude: float
    country: str = ""
    timezone: str = ""


class _Places(Struct):
    results: list[_Place] = []


class _Current(Struct):
    time: str
    temperature_2m: float | None = None
    apparent_temperature: float | None = None
    relative_humidity_2m: float | None = None
    wind_speed_10m: float | None = None
    weather_code: int | None = None


class _Daily(Struct):
    time: list[str]
    temperature_2m_max: list[float | None]
    temperature_2m_min: list[float | None]
    precipitation_sum: list[float | None]
    weather_code: list[int | None]


class _Forecast(Struct):
    current: _Current
    daily: _Daily


class _Day(Struct):
    date: str
    highest: float | None
    lowest: float | None
    rain: float | None
    sky: str


_Query = dict[str, str | int | float]
_Answer = TypeVar("_Answer", _Places, _Forecast)


def weather_tool(forecast_url: str, geocoding_url: str) -> FunctionTool:
    """The tool `get_weather`, asking the two addresses of a service with the interface of Open-Meteo."""

    @tool(source="open-meteo", timeout=4 * _SECONDS)
    async def get_weather(city: str, days: Annotated[int, msgspec.Meta(ge=1, le=7)] = 1) -> str:
        """Tell the current weather of a city and its forecast for up to seven days, today included.

        Use it when someone asks about weather, temperature, rain or wind somewhere. Not for climate or past weather.

        Args:
            city: Name of the city in Chinese or English, for example "北京" or "London".
            days: How many days of forecast, 1 (today) to 7.
        """
        from httpx2 import AsyncClient

        if not city.strip():
            raise ToolFailed("The city is empty. Give the name of one.", code="unknown_city")
        async with AsyncClient(timeout=_SECONDS, headers={"Accept": "application/json"}) as client:
            place = await _located(client, geocoding_url, city.strip())
            query: _Query = {
                "latitude": place.latitude,
                "longitude": place.longitude,
                "current": _CURRENT,
                "daily": _DAILY,
                "forecast_days": days,
                "timezone": "auto",
            }
            forecast = await _fetched(client, forecast_url, query, _Forecast)
        return _told(place, forecast.current, _days(forecast.daily)[:days])

    return get_weather


async def _located(client: "AsyncClient", url: str, city: str) -> _Place:
    language = "zh" if _CHINESE.search(city) else "en"
    query: _Query = {"name": city, "count": 1, "language": language, "format": "json"}
    places = (await _fetched(client, url, query, _Places)).results
    if not places:
        raise ToolFailed(
            f"No city is called {city!r}. Check the spelling, or name a larger city nearby, without country or province.",
            code="unknown_city",
        )
    return places[0]


async def _fetched(client: "AsyncClient", url: str, query: _Query, kind: type[_Answer]) -> _Answer:
    """What the service answers. Raises `ToolFailed` when it cannot be reached or answers something else."""
    from httpx2 import HTTPError, InvalidURL

    host = re.sub(r"^\w+://|[/?#].*$", "", url).rpartition("@")[2]
    advice = "Try again later; where it cannot be reached at all, the operator can set the address of another weather service."
    body = bytearray()
    try:
        async with client.stream("GET", url, params=query) as response:
            if response.status_code != 200:
                raise ToolFailed(
                    f"The weather service {host} answered HTTP {response.status_code}. {advice}", code="weather_failed"
                )
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise ToolFailed(f"The weather service {host} answered too much. {advice}", code="weather_failed")
        return msgspec.json.decode(body, type=kind)
    except (HTTPError, InvalidURL) as error:
        reason = type(error).__name__
        raise ToolFailed(
            f"The weather service {host} cannot be reached ({reason}). {advice}", code="weather_unreachable"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ToolFailed(f"The weather service {host} answered in an unknown form. {advice}", code="weather_failed") from None


def _days(daily: _Daily) -> list[_Day]:
    columns = (daily.time, daily.temperature_2m_max, daily.temperature_2m_min, daily.precipitation_sum, daily.weather_code)
    return [_Day(date, high, low, rain, _sky(code)) for date, high, low, rain, code in zip(*columns, strict=False)]


def _told(place: _Place, now: _Current, days: list[_Day]) -> str:
    where = ", ".join(part for part in (place.name, place.country) if part)
    today = f"; today {_range(days[0])}" if days else ""
    conclusion = (
        f"{where}: {_amount(now.temperature_2m)} °C now (feels {_amount(now.apparent_temperature)}), {_sky(now.weather_code)}, "
        f"wind {_amount(now.wind_speed_10m)} km/h, humidity {_amount(now.relative_humidity_2m)} %{today}."
    )
    facts: dict[str, Any] = {
        "city": place.name,
        "country": place.country,
        "time": now.time,
        "temperature": now.temperature_2m,
        "feels_like": now.apparent_temperature,
        "humidity": now.relative_humidity_2m,
        "wind": now.wind_speed_10m,
        "sky": _sky(now.weather_code),
        "days": days,
    }
    lines = "\n".join(f"- {day.date}: {day.sky}, {_range(day)}" for day in days)
    return f"{conclusion}\n\n{lines}\n\n```json\n{msgspec.json.encode(facts).decode()}\n```"


def _range(day: _Day) -> str:
    return f"{_amount(day.lowest)} to {_amount(day.highest)} °C, rain {_amount(day.rain)} mm"


def _amount(number: float | None) -> str:
    return "unknown" if number is None else f"{number:g}"


def _sky(code: int | None) -> str:
    return "unknown sky" if code is None else _SKY.get(code, f"weather code {code}")
