"""A weather service on loopback that speaks the wire format of Open-Meteo, with fixed data for three cities."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

FIRST_DAY = date(2026, 9, 7)
_CITIES = {
    "Beijing": ("北京", "China", "中国", 39.9075, 116.39723, "Asia/Shanghai", 12.3, 0),
    "Shanghai": ("上海", "China", "中国", 31.22222, 121.45806, "Asia/Shanghai", 22.5, 61),
    "London": ("伦敦", "United Kingdom", "英国", 51.50853, -0.12574, "Europe/London", 9, 3),
}


@dataclass
class WeatherServer:
    """`requests` are the paths and queries asked so far; `status` and `body` replace every answer when they are set."""

    url: str = ""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    status: int = 200
    body: bytes | None = None

    @property
    def forecast_url(self) -> str:
        return f"{self.url}/v1/forecast"

    @property
    def geocoding_url(self) -> str:
        return f"{self.url}/v1/search"

    def answer(self, path: str, query: dict[str, str]) -> bytes:
        self.requests.append((path, query))
        if self.body is not None:
            return self.body
        return json.dumps(_places(query) if path == "/v1/search" else _forecast(query), ensure_ascii=False).encode()


@contextmanager
def weather_server() -> Iterator[WeatherServer]:
    """The service, for the length of the block."""
    stub = WeatherServer()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            body = stub.answer(asked.path, {name: values[0] for name, values in parse_qs(asked.query).items()})
            self.send_response(stub.status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        stub.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield stub
        finally:
            server.shutdown()
            thread.join()


def _places(query: dict[str, str]) -> dict[str, object]:
    for name, (chinese, country, country_chinese, latitude, longitude, timezone, _, _) in _CITIES.items():
        if query["name"].casefold() in (name.casefold(), chinese):
            in_chinese = query.get("language") == "zh"
            place = {
                "id": 1816670,
                "name": chinese if in_chinese else name,
                "latitude": latitude,
                "longitude": longitude,
                "country": country_chinese if in_chinese else country,
                "timezone": timezone,
            }
            return {"results": [place], "generationtime_ms": 0.5}
    return {"generationtime_ms": 0.1}


def _forecast(query: dict[str, str]) -> dict[str, object]:
    timezone, temperature, code = next(city[5:] for city in _CITIES.values() if str(city[3]) == query["latitude"])
    days = range(int(query["forecast_days"]))
    current = {
        "time": f"{FIRST_DAY}T14:00",
        "interval": 900,
        "temperature_2m": temperature,
        "apparent_temperature": round(temperature - 2.2, 1),
        "relative_humidity_2m": 40,
        "wind_speed_10m": 8.0,
        "weather_code": code,
    }
    daily = {
        "time": [f"{FIRST_DAY + timedelta(days=day)}" for day in days],
        "temperature_2m_max": [14.0 + day for day in days],
        "temperature_2m_min": [5.0 + day for day in days],
        "precipitation_sum": [0.5 * day for day in days],
        "weather_code": [code if day == 0 else 63 for day in days],
    }
    wanted = {name: current[name] for name in ("time", "interval", *query["current"].split(","))}
    wanted_daily = {name: daily[name] for name in ("time", *query["daily"].split(","))}
    return {"timezone": timezone, "current": wanted, "daily": wanted_daily}
