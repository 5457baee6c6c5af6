import asyncio
import ipaddress
import ssl
from collections.abc import Sequence

import httpx2
import pytest
import trustme

from tests.stubs.web_server import reply, web_server
from zeno.core.errors import ConfigError
from zeno.tools.addresses import Exceptions, is_public
from zeno.tools.egress import GuardedTransport, Refused

PUBLIC = "93.184.216.34"


class Names:
    """A resolver that gives the addresses it was given, one set after the other, and counts how often it was asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def get(url: str, transport: GuardedTransport) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=transport, trust_env=False, timeout=10) as client:
        return await client.get(url)


def refusal(url: str, transport: GuardedTransport | None = None) -> str:
    with pytest.raises(Refused) as caught:
        asyncio.run(get(url, transport or GuardedTransport()))
    return caught.value.reason


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "169.254.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:8.8.8.8",
        "::ffff:0:10.0.0.1",
        "::127.0.0.1",
        "::8.8.8.8",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::8.8.8.8",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:808:808::1",
        "2001:0:53aa:64c:0:fbfe:3f57:fe01",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
    ],
)
def test_an_address_that_is_not_everybodys_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "64:ff9b::8.8.8.8"]
)
def test_an_address_of_the_open_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://127.1/",
        "http://0/",
        "http://127。0。0。1/",
        "http://localhost./",
        "http://example.com./",
        "http://%6c%6f%63%61lhost/",
        "http://127.0.0.1%2f@example.com/",
        "http://[fe80::1%25eth0]/",
        "http://example.com:0/",
        "http://example.com:70000/",
        "http://a_b c/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "http://user:word@example.com/",
        "http://user@example.com/",
    ],
)
def test_whatever_leads_inside_or_is_not_plain_is_refused_before_anything_is_sent(url: str) -> None:
    assert refusal(url, GuardedTransport(resolve=Names(["127.0.0.1"])) if "example.com" not in url else None)


@pytest.mark.parametrize("url", ["http://0177.0.0.1/", "http://127.0.0.256/", "http://①②⑦.0.0.1/", "http://[::1"])
def test_what_the_library_does_not_take_for_an_address_does_not_get_that_far(url: str) -> None:
    with pytest.raises((httpx2.InvalidURL, Refused)):
        asyncio.run(get(url, GuardedTransport(resolve=Names(["127.0.0.1"]))))


def test_a_name_is_resolved_once_and_a_second_answer_of_its_name_server_is_never_used() -> None:
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    with web_server() as server:
        server.answers["/"] = reply("here")
        exceptions = Exceptions.of(["127.0.0.0/8"])
        url = f"http://rebinding.example:{server.port}/"
        response = asyncio.run(get(url, GuardedTransport(exceptions=exceptions, resolve=names)))
        assert response.text == "here"
        assert names.asked == [("rebinding.example", server.port)]
        assert server.requests[0].headers["host"] == f"rebinding.example:{server.port}"


def test_one_internal_address_refuses_the_whole_name_in_whatever_order() -> None:
    for answer in ([PUBLIC, "10.0.0.1"], ["10.0.0.1", PUBLIC], [PUBLIC, "::ffff:192.168.0.1"]):
        assert "internal" in refusal("https://mixed.example/", GuardedTransport(resolve=Names(answer)))


def test_a_name_without_an_address_is_not_reached() -> None:
    async def nobody(host: str, port: int) -> Sequence[str]:
        raise OSError(-2, "Name or service not known")

    with pytest.raises(httpx2.ConnectError, match="Name or service not known"):
        asyncio.run(get("http://missing.example/", GuardedTransport(resolve=nobody)))
    with pytest.raises(httpx2.ConnectError, match="has no address"):
        asyncio.run(get("http://missing.example/", GuardedTransport(resolve=Names([]))))


def test_an_address_that_does_not_answer_is_followed_by_the_next() -> None:
    with web_server() as server:
        server.answers["/"] = reply("here")
        transport = GuardedTransport(exceptions=Exceptions.of(["inside.example"]), resolve=Names(["::1", "127.0.0.1"]))
        assert asyncio.run(get(f"http://inside.example:{server.port}/", transport)).text == "here"


@pytest.mark.parametrize("entry", ["127.0.0.1", "127.0.0.1:{port}", "127.0.0.0/8"])
def test_an_operators_own_service_may_be_excepted(entry: str) -> None:
    with web_server() as server:
        server.answers["/"] = reply("here")
        exceptions = Exceptions.of([entry.format(port=server.port)])
        assert asyncio.run(get(server.url, GuardedTransport(exceptions=exceptions))).text == "here"


def test_an_exception_reaches_no_further_than_it_says() -> None:
    exceptions = Exceptions.of(["Inside.Example:8080", "10.1.0.0/16", "[::1]:9000", "例子.测试"])
    assert exceptions.names("inside.example", 8080)
    assert exceptions.names("xn--fsqu00a.xn--0zwm56d", 80)
    for host, port in (("inside.example", 80), ("sub.inside.example", 8080), ("::1", 80)):
        assert not exceptions.names(host, port)
    for url, address in (
        ("http://inside.example/", "10.2.0.1"),
        ("http://sub.inside.example:8080/", "127.0.0.1"),
        ("http://other.example:8080/", "127.0.0.1"),
    ):
        assert "internal" in refusal(url, GuardedTransport(exceptions=exceptions, resolve=Names([address])))


@pytest.mark.parametrize(
    "entry", ["", "http://inside.example", "inside.example:", "inside.example:0", "a b", "10.0.0.1/8", "*", "::1]"]
)
def test_an_exception_that_cannot_be_understood_is_the_operators_to_correct(entry: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Exceptions.of([entry])
    assert caught.value.code == "http_allowed_invalid"


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server() as server, web_server() as proxy:
        server.answers["/"] = reply("here")
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert asyncio.run(get(server.url, GuardedTransport(exceptions=Exceptions.of(["127.0.0.1"])))).text == "here"
        assert proxy.requests == []


def test_the_certificate_must_be_for_the_name_although_the_connection_goes_to_an_address() -> None:
    authority = trustme.CA()
    client = ssl.create_default_context()
    authority.configure_trust(client)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("inside.example").configure_cert(tls)
    exceptions = Exceptions.of(["127.0.0.0/8"])
    with web_server(tls) as server:
        server.answers["/"] = reply("here")
        transport = GuardedTransport(exceptions=exceptions, resolve=Names(["127.0.0.1"]), verify=client)
        assert asyncio.run(get(f"https://inside.example:{server.port}/", transport)).text == "here"
        transport = GuardedTransport(exceptions=exceptions, resolve=Names(["127.0.0.1"]), verify=client)
        with pytest.raises(httpx2.ConnectError, match=r"other\.example"):
            asyncio.run(get(f"https://other.example:{server.port}/", transport))
        assert len(server.requests) == 1
