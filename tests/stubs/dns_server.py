"""A name server on loopback: real DNS messages over UDP and TCP, answered from a zone given as a dictionary."""

import socketserver
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

Zone = Mapping[tuple[str, str], Sequence[str]]

TTL = 300
BROKEN = "broken.example.com"
"""This name is answered with SERVFAIL."""
SILENT = "silent.example.com"
"""This name is not answered at all."""
ZONE: Zone = {
    ("example.com", "A"): ["192.0.2.2", "192.0.2.1"],
    ("example.com", "AAAA"): ["2001:db8::1"],
    ("example.com", "MX"): ["20 backup.example.com.", "5 mail.example.com."],
    ("example.com", "TXT"): ['"v=spf1 " "-all"'],
    ("www.example.com", "CNAME"): ["example.com."],
    ("long.example.com", "TXT"): [" ".join(f'"{letter * 250}"' for letter in "abcdefgh")],
    ("xn--fsqu00a.xn--0zwm56d", "A"): ["192.0.2.8"],
}


@contextmanager
def dns_server(zone: Zone = ZONE) -> Iterator[int]:
    """The port of 127.0.0.1, the same for UDP and TCP, at which the zone is served for the length of the block."""

    class OverUdp(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data, socket = self.request
            if answer := _answer(zone, data):
                socket.sendto(answer.to_wire(max_size=512) if _fits(answer) else _truncated(answer), self.client_address)

    class OverTcp(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while prefix := self.rfile.read(2):
                answer = _answer(zone, self.rfile.read(struct.unpack("!H", prefix)[0]))
                if answer is None:
                    return
                wire = answer.to_wire()
                self.wfile.write(struct.pack("!H", len(wire)) + wire)

    with ExitStack() as stack:
        tcp = stack.enter_context(_Tcp(("127.0.0.1", 0), OverTcp))
        port = tcp.server_address[1]
        udp = stack.enter_context(socketserver.ThreadingUDPServer(("127.0.0.1", port), OverUdp))
        for server in (tcp, udp):
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
        yield port


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True


def _answer(zone: Zone, data: bytes) -> dns.message.Message | None:
    query = dns.message.from_wire(data)
    question = query.question[0]
    name = question.name.to_text(omit_final_dot=True).lower()
    if name == SILENT:
        return None
    answer = dns.message.make_response(query, recursion_available=True)
    if name == BROKEN:
        answer.set_rcode(dns.rcode.SERVFAIL)
    elif not any(known == name for known, _ in zone):
        answer.set_rcode(dns.rcode.NXDOMAIN)
    else:
        _fill(answer, zone, name, dns.rdatatype.to_text(question.rdtype))
    return answer


def _fill(answer: dns.message.Message, zone: Zone, name: str, kind: str) -> None:
    """The records of the name, following aliases as a resolver does."""
    while kind != "CNAME" and (target := zone.get((name, "CNAME"))):
        answer.answer.append(dns.rrset.from_text(f"{name}.", TTL, "IN", "CNAME", *target))
        name = target[0].rstrip(".")
    if records := zone.get((name, kind)):
        answer.answer.append(dns.rrset.from_text(f"{name}.", TTL, "IN", kind, *records))


def _fits(answer: dns.message.Message) -> bool:
    return len(answer.to_wire()) <= 512


def _truncated(answer: dns.message.Message) -> bytes:
    answer.flags |= dns.flags.TC
    answer.answer.clear()
    return answer.to_wire()
