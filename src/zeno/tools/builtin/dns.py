"""DNS records of a domain, in one sentence. Knows names and resolvers; "no such name" is an answer, not an error."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from zeno.core.errors import ToolFailed
from zeno.tools.function import FunctionTool, tool

if TYPE_CHECKING:
    from dns.resolver import Answer

RecordType = Literal["A", "AAAA", "CNAME", "MX", "TXT"]

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.IGNORECASE)
_ADDRESS = re.compile(r"[\d.]+|\[?[\da-f]*:[\da-f:.]*\]?", re.IGNORECASE)


def dns_tool(nameservers: Sequence[str] = (), port: int = 53, lifetime: float = 5.0) -> FunctionTool:
    """The tool `query_dns`.

    `nameservers` are the IP addresses to ask, at `port`; without any, those that the system uses. `lifetime` is how long a
    question may take in all, in seconds.
    """

    @tool(source="dns", outgoing=True)
    async def query_dns(domain: str, record_type: RecordType = "A") -> str:
        """Look up the DNS records of a domain: addresses, aliases, mail servers or texts, with their time to live.

        Use it when someone asks what a domain points to, who receives its mail, or whether it exists. It asks the name servers
        now; it does not open the web site.

        Args:
            domain: The domain name, for example "example.com"; the host of a URL is taken, Chinese names are fine.
            record_type: "A" for IPv4 addresses, "AAAA" for IPv6, "CNAME" for an alias, "MX" for mail servers, "TXT" for texts.
        """
        from dns.resolver import NXDOMAIN

        name = _cleaned(domain)
        try:
            answer = await _asked(name, record_type, nameservers, port, lifetime)
        except NXDOMAIN:
            facts = {"domain": name, "record_type": record_type, "status": "no_such_domain", "values": []}
            return _told(f"{name} does not exist: the name servers know no such domain (NXDOMAIN).", facts)
        return _answered(name, record_type, answer)

    return query_dns


def _cleaned(domain: str) -> str:
    """The bare host name in ASCII. Raises `ToolFailed` when there is none."""
    from dns.exception import DNSException
    from dns.name import from_text

    host = re.sub(r"^[a-z][a-z0-9+.-]*://", "", domain.strip(), flags=re.IGNORECASE)
    host = re.split(r"[/?#]", host)[0].rpartition("@")[2]
    if _ADDRESS.fullmatch(host):
        raise ToolFailed(f"{domain!r} is an IP address, not a domain name. Give a name such as example.com.", code="bad_domain")
    host = re.sub(r":\d*$", "", host)
    try:
        name = from_text(host).to_text(omit_final_dot=True).lower()
    except (DNSException, UnicodeError):
        name = ""
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise ToolFailed(f"{domain!r} is not a domain name. Give one such as example.com, without spaces.", code="bad_domain")
    return name


async def _asked(name: str, record_type: str, nameservers: Sequence[str], port: int, lifetime: float) -> "Answer":
    from dns.asyncresolver import Resolver
    from dns.exception import DNSException, Timeout
    from dns.resolver import NXDOMAIN, NoNameservers, NoResolverConfiguration

    try:
        resolver = Resolver(configure=not nameservers)
        resolver.port = port
        if nameservers:
            resolver.nameservers = list(nameservers)
        return await resolver.resolve(name + ".", record_type, lifetime=lifetime, raise_on_no_answer=False)
    except NXDOMAIN:
        raise
    except Timeout:
        raise ToolFailed(
            f"No name server answered about {name} within {lifetime:g} s. Try again later, or check the network and the "
            f"configured name servers.",
            code="dns_timeout",
        ) from None
    except NoNameservers as error:
        reasons = ", ".join(sorted({str(entry[3]) for entry in error.kwargs["errors"]})) or "no reason given"
        raise ToolFailed(
            f"The name servers could not answer about {name} ({reasons}). Its own servers may be broken; try again later.",
            code="dns_server_failed",
        ) from None
    except (NoResolverConfiguration, ValueError):
        raise ToolFailed(
            "No usable name server is configured. The operator must set the IP address of one.", code="dns_not_configured"
        ) from None
    except (DNSException, OSError) as error:
        raise ToolFailed(f"The question about {name} failed: {error}. Try again later.", code="dns_failed") from None


def _answered(name: str, record_type: str, answer: "Answer") -> str:
    alias = answer.canonical_name.to_text(omit_final_dot=True)
    via = f" (an alias of {alias})" if alias != name and record_type != "CNAME" else ""
    facts: dict[str, Any] = {"domain": name, "record_type": record_type, "canonical_name": alias}
    if answer.rrset is None:
        sentence = f"{name}{via} exists but has no {record_type} record."
        return _told(sentence, facts | {"status": "no_such_record", "values": []})
    values = [_value(record) for record in sorted(answer.rrset, key=_order)]
    count = f"{len(values)} {record_type} record{'s' if len(values) > 1 else ''}"
    sentence = f"{name}{via} has {count}: {', '.join(values)} (TTL {answer.rrset.ttl} s)."
    return _told(sentence, facts | {"status": "found", "values": values, "ttl": answer.rrset.ttl})


def _order(record: Any) -> tuple[int, str]:
    """Mail servers by preference, the rest by value: answers come in changing order."""
    return getattr(record, "preference", 0), _value(record)


def _value(record: Any) -> str:
    """The record's data in words; each type keeps it in other attributes."""
    match record.rdtype.name:
        case "MX":
            return f"{record.preference} {record.exchange.to_text(omit_final_dot=True)}"
        case "CNAME":
            return f"{record.target.to_text(omit_final_dot=True)}"
        case "TXT":
            return f'"{b"".join(record.strings).decode("utf-8", "replace")}"'
        case _:
            return f"{record.address}"


def _told(sentence: str, facts: dict[str, Any]) -> str:
    return f"{sentence}\n\n```json\n{msgspec.json.encode(facts).decode()}\n```"
