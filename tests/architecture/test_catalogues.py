"""The catalogues: both languages have the same texts, and every code that can reach a person has one."""

import ast
import re
import string
import typing

import pytest

from tests.architecture.source import MODULES, SOURCE
from zeno.cli.edge import EXIT_CODES
from zeno.core.endings import Ending
from zeno.core.messages import Outcome
from zeno.core.policy import Cause
from zeno.i18n import LANGUAGES, catalogue
from zeno.tools.builtin.mail import MailServer
from zeno.tools.catalog import Surroundings, toolset

ENGLISH, CHINESE = (catalogue(language) for language in LANGUAGES)
RAISED_TO_PEOPLE = {
    "ModelUnavailable",
    "ModelRefused",
    "NotFound",
    "Conflict",
    "Forbidden",
    "Invalid",
    "ConfigError",
    "RunLost",
    "Unauthorized",
    "TooMany",
    "StoreUnavailable",
    "WrittenByNewer",
}


def test_both_languages_have_the_same_keys() -> None:
    assert set(ENGLISH) == set(CHINESE)
    assert len(ENGLISH) > 100


SPELLED_DIFFERENTLY = {"offline.period.month"}
"""English names a month, Chinese numbers it."""


@pytest.mark.parametrize("key", sorted(set(ENGLISH) - SPELLED_DIFFERENTLY))
def test_both_texts_of_a_key_take_the_same_placeholders(key: str) -> None:
    assert _placeholders(ENGLISH[key]) == _placeholders(CHINESE[key])


def test_chinese_texts_are_chinese() -> None:
    for_people = [key for key in CHINESE if key.startswith(("cli.", "tools."))]
    assert not [key for key in for_people if not re.search(r"[\u4e00-\u9fff]", CHINESE[key])]


def test_every_ending_and_outcome_has_words_and_an_exit_code() -> None:
    endings = set(typing.get_args(Ending))
    assert set(EXIT_CODES) == endings
    assert len(set(EXIT_CODES.values())) == len(endings)
    for ending in endings:
        assert {f"cli.ending.{ending}", f"cli.next.{ending}"} <= set(ENGLISH)
    for outcome in typing.get_args(Outcome):
        assert f"cli.outcome.{outcome}" in ENGLISH


def test_every_error_that_people_see_has_words_for_all_its_parameters() -> None:
    codes = dict(_raised())
    assert len(codes) > 25
    for code, params in codes.items():
        assert f"cli.error.{code}" in ENGLISH, code
        assert _placeholders(ENGLISH[f"cli.error.{code}"]) <= params, code


def test_every_cause_of_asking_has_words() -> None:
    for cause in set(typing.get_args(Cause)) - {"denied_by_rule", ""}:
        assert f"cli.cause_of_asking.{cause}" in ENGLISH


def test_every_tool_that_ships_and_everything_it_is_given_has_words() -> None:
    mail, databases = MailServer(host="127.0.0.1", sender="zeno@example.com"), {"example": "sqlite:///shop.db"}
    everything = Surroundings(weather_forecast_url="", weather_geocoding_url="", now=int, mail=mail, databases=databases)
    tools = toolset(everything, ())
    expected = {f"tools.{name}.purpose" for name in tools}
    for name, tool in tools.items():
        expected |= {f"tools.{name}.parameters.{parameter}" for parameter in tool.spec.parameters["properties"]}
    assert {key for key in ENGLISH if key.startswith("tools.")} == expected


def test_every_cause_of_an_ending_has_words() -> None:
    source = (SOURCE / "core" / "decide.py").read_text("utf-8")
    causes = re.findall(r'Finish\("\w+", "(\w+)"\)', source)
    assert len(causes) >= 5
    assert not [cause for cause in causes if f"cli.cause.{cause}" not in ENGLISH]


def test_no_text_is_left_over() -> None:
    raised = {f"cli.error.{code}" for code, _ in _raised()} | {"cli.error.reply_incomplete"}
    assert {key for key in ENGLISH if key.startswith("cli.error.")} == raised


def _raised() -> list[tuple[str, set[str]]]:
    """Codes with their parameters, of every error of those kinds that the source makes."""
    found = []
    for tree in MODULES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "unavailable":
                codes = [item.value for item in ast.walk(node.args[0]) if isinstance(item, ast.Constant)]
                found += [(str(code), {"endpoint", "model", "status", "reason"}) for code in codes]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED_TO_PEOPLE:
                params = {keyword.arg for keyword in node.keywords if keyword.arg}
                params |= {"seconds"} if "retry_after" in params else set()
                for code in (
                    [item.value for item in ast.walk(node.args[0]) if isinstance(item, ast.Constant)] if node.args else []
                ):
                    found.append((str(code), params))
    status_codes = ("context_exceeded", "model_unauthorized", "model_not_found", "model_busy", "model_http_error")
    return found + [(code, {"endpoint", "model", "status", "reason"}) for code in status_codes]


def _placeholders(words: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(words) if name}
