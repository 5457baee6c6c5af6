import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.weather_server import WeatherServer, weather_server
from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.builtin.weather import weather_tool

CONTEXT = ToolContext(run_id="trace-0001", call_id="call", workspace=Path())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WeatherServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with weather_server() as stub:
        yield stub


def ask(server: WeatherServer, **arguments: Any) -> str:
    tool = weather_tool(server.forecast_url, server.geocoding_url)
    return asyncio.run(tool.call(arguments, CONTEXT)).text


def failure(server: WeatherServer, **arguments: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        ask(server, **arguments)
    return caught.value


def facts(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.rpartition("```json\n")[2].removesuffix("\n```"))
    return found


def test_the_first_line_is_the_whole_answer(server: WeatherServer) -> None:
    assert ask(server, city="Beijing").splitlines()[0] == (
        "Beijing, China: 12.3 °C now (feels 10.1), clear sky, wind 8 km/h, humidity 40 %; today 5 to 14 °C, rain 0 mm."
    )


def test_a_chinese_name_reaches_the_geocoder_whole_and_asks_for_chinese_names(server: WeatherServer) -> None:
    assert ask(server, city=" 上海 ").startswith("上海, 中国: 22.5 °C now (feels 20.3), light rain,")
    path, query = server.requests[0]
    assert (path, query["name"], query["language"], query["count"]) == ("/v1/search", "上海", "zh", "1")


def test_several_days_are_listed_and_given_as_data(server: WeatherServer) -> None:
    text = ask(server, city="London", days=3)
    assert "- 2026-09-09: rain, 7 to 16 °C, rain 1 mm" in text
    days = facts(text)["days"]
    assert [day["date"] for day in days] == ["2026-09-07", "2026-09-08", "2026-09-09"]
    assert days[1] == {"date": "2026-09-08", "highest": 15.0, "lowest": 6.0, "rain": 0.5, "sky": "rain"}


def test_an_unknown_city_is_named_with_advice(server: WeatherServer) -> None:
    error = failure(server, city="Atlantis")
    assert error.code == "unknown_city"
    assert "'Atlantis'" in error.message
    assert "spelling" in error.message
    assert failure(server, city="  ").code == "unknown_city"


@pytest.mark.parametrize("days", [0, 8, "many"])
def test_days_outside_one_week_are_refused_before_anything_is_asked(server: WeatherServer, days: object) -> None:
    assert failure(server, city="London", days=days).code == "bad_arguments"
    assert not server.requests


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, b"{}", "HTTP 503"),
        (200, b"<html>sign in</html>", "unknown form"),
        (200, b'{"results": [{"name": 5}]}', "unknown form"),
        (200, b"\xff\xfe{", "unknown form"),
        (200, b" " * (1024 * 1024 + 1), "too much"),
    ],
)
def test_a_service_out_of_order_is_reported_with_what_it_said(
    server: WeatherServer, status: int, body: bytes, said: str
) -> None:
    server.status, server.body = status, body
    error = failure(server, city="London")
    assert error.code == "weather_failed"
    assert said in error.message
    assert server.url.removeprefix("http://") in error.message


def test_values_that_the_service_does_not_know_are_called_unknown(server: WeatherServer) -> None:
    daily = {"time": [], "temperature_2m_max": [], "temperature_2m_min": [], "precipitation_sum": [], "weather_code": []}
    places = {"results": [{"name": "X", "latitude": 1.0, "longitude": 2.0}]}
    server.body = json.dumps(
        places | {"current": {"time": "2026-09-07T14:00", "temperature_2m": None}, "daily": daily}
    ).encode()
    assert ask(server, city="X").startswith("X: unknown °C now (feels unknown), unknown sky, wind unknown km/h")


def test_an_unreachable_service_says_that_its_address_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://user:hidden@127.0.0.1:{unused.getsockname()[1]}"
        error = failure(WeatherServer(url=url), city="London")
    assert error.code == "weather_unreachable"
    assert "the operator can set the address" in error.message
    assert "hidden" not in error.message


def test_an_address_that_is_no_url_is_reported() -> None:
    assert failure(WeatherServer(url="no address"), city="London").code == "weather_unreachable"
