import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.dns_server import BROKEN, SILENT, dns_server
from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.builtin.dns import dns_tool

CONTEXT = ToolContext(run_id="trace-0001", call_id="call", workspace=Path())


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with dns_server() as port:
        yield port


def ask(port: int, domain: str, record_type: str = "A", lifetime: float = 5.0) -> str:
    tool = dns_tool(["127.0.0.1"], port, lifetime)
    return asyncio.run(tool.call({"domain": domain, "record_type": record_type}, CONTEXT)).text


def failure(port: int, domain: str, **options: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        ask(port, domain, **options)
    return caught.value


def sentence(text: str) -> str:
    return text.splitlines()[0]


def facts(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.rpartition("```json\n")[2].removesuffix("\n```"))
    return found


@pytest.mark.parametrize(
    ("record_type", "answer"),
    [
        ("A", "example.com has 2 A records: 192.0.2.1, 192.0.2.2 (TTL 300 s)."),
        ("AAAA", "example.com has 1 AAAA record: 2001:db8::1 (TTL 300 s)."),
        ("MX", "example.com has 2 MX records: 5 mail.example.com, 20 backup.example.com (TTL 300 s)."),
        ("TXT", 'example.com has 1 TXT record: "v=spf1 -all" (TTL 300 s).'),
    ],
)
def test_each_type_of_record_is_told_in_one_sentence(port: int, record_type: str, answer: str) -> None:
    assert sentence(ask(port, "example.com", record_type)) == answer


def test_an_alias_is_told_by_itself_and_followed_for_addresses(port: int) -> None:
    assert sentence(ask(port, "www.example.com", "CNAME")) == "www.example.com has 1 CNAME record: example.com (TTL 300 s)."
    followed = ask(port, "www.example.com")
    assert sentence(followed).startswith("www.example.com (an alias of example.com) has 2 A records:")
    assert facts(followed)["canonical_name"] == "example.com"


@pytest.mark.parametrize(
    "written",
    [
        " Example.COM. ",
        "https://example.com/path?q=1#top",
        "http://user:word@example.com:8080",
        "example.com:443",
        "ftp://example.com/",
    ],
)
def test_the_domain_is_taken_out_of_what_people_paste(port: int, written: str) -> None:
    assert sentence(ask(port, written)).startswith("example.com has 2 A records")


def test_a_chinese_domain_is_asked_in_punycode(port: int) -> None:
    for written in ("例子.测试", "例子。测试", "https://例子.测试/首页"):
        assert sentence(ask(port, written)) == "xn--fsqu00a.xn--0zwm56d has 1 A record: 192.0.2.8 (TTL 300 s)."


def test_a_domain_without_such_a_record_is_an_answer(port: int) -> None:
    text = ask(port, "www.example.com", "MX")
    assert "has 2 MX records" in text
    text = ask(port, "long.example.com", "MX")
    assert sentence(text) == "long.example.com exists but has no MX record."
    assert facts(text)["status"] == "no_such_record"


def test_a_domain_that_does_not_exist_is_an_answer(port: int) -> None:
    text = ask(port, "missing.example.com")
    assert sentence(text).startswith("missing.example.com does not exist")
    assert facts(text) == {"domain": "missing.example.com", "record_type": "A", "status": "no_such_domain", "values": []}


def test_an_answer_too_long_for_udp_comes_over_tcp(port: int) -> None:
    assert facts(ask(port, "long.example.com", "TXT"))["values"] == ['"' + "".join(letter * 250 for letter in "abcdefgh") + '"']


def test_a_failing_name_server_is_reported_with_its_word(port: int) -> None:
    error = failure(port, BROKEN)
    assert error.code == "dns_server_failed"
    assert "SERVFAIL" in error.message
    assert BROKEN in error.message


def test_a_silent_name_server_is_reported_after_the_time_allowed(port: int) -> None:
    error = failure(port, SILENT, lifetime=0.2)
    assert error.code == "dns_timeout"
    assert "within 0.2 s" in error.message


@pytest.mark.parametrize(
    "domain",
    [
        "",
        "   ",
        "a b.com",
        "-a.com",
        "a..com",
        "ex'ample.com",
        "a" * 64 + ".com",
        "a." * 130 + "com",
        "https://",
        "a\\.com",
        "\ud800.com",
    ],
)
def test_what_is_no_domain_is_refused(port: int, domain: str) -> None:
    assert failure(port, domain).code == "bad_domain"


@pytest.mark.parametrize("address", ["192.0.2.1", "2001:db8::1", "http://[2001:db8::1]/"])
def test_an_address_is_told_from_a_domain(port: int, address: str) -> None:
    assert "is an IP address" in failure(port, address).message


def test_an_unknown_type_of_record_is_refused(port: int) -> None:
    assert failure(port, "example.com", record_type="ANY").code == "bad_arguments"


def test_a_name_server_that_is_no_address_is_the_operators_to_correct() -> None:
    with pytest.raises(ToolFailed) as caught:
        asyncio.run(dns_tool(["not an address"]).call({"domain": "example.com"}, CONTEXT))
    assert caught.value.code == "dns_not_configured"
