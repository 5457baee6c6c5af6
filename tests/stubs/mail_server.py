"""A mail server on loopback, made with aiosmtpd, that takes mail, refuses it, or goes away where it hurts."""

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import SMTP as WIRE
from functools import partial
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USERNAME, PASSWORD = "robot", "hunter2-öäü"


@dataclass
class MailServer:
    """`letters` are the messages that were taken, `envelopes` who they were for.

    `refused` are recipients that are not known; `answer` replaces the answer to a message; `drops` says when the connection is
    closed without one: at "connect", "mail" or "data" (the message has been read by then). `silent` never answers a message.
    """

    port: int = 0
    refused: set[str] = field(default_factory=set)
    answer: str = ""
    drops: str = ""
    silent: bool = False
    letters: list[EmailMessage] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    envelopes: list[list[str]] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    close: Callable[[], Any] = lambda: None


class _Handler:
    def __init__(self, stub: MailServer, login: bool) -> None:
        self._stub, self._login = stub, login

    async def handle_MAIL(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:  # noqa: N802
        if self._stub.drops == "mail":
            _drop(server)
        if self._login and not session.authenticated:
            return "530 5.7.0 Authentication required"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]) -> str:  # noqa: N802
        if address in self._stub.refused:
            return f"550 5.1.1 <{address}>: no such person"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.original_content or b""
        self._stub.raw.append(content)
        self._stub.arrived.set()
        if self._stub.silent:
            await asyncio.sleep(30)
        if self._stub.drops == "data":
            _drop(server)
        if self._stub.answer:
            return self._stub.answer
        self._stub.letters.append(BytesParser(EmailMessage, policy=WIRE).parsebytes(content))
        self._stub.envelopes.append(list(envelope.rcpt_tos))
        return "250 OK"


def _drop(server: SMTP) -> None:
    assert server.transport is not None
    server.transport.abort()


def _protocol(stub: MailServer, tls: ssl.SSLContext | None, security: str, login: bool) -> SMTP:
    def authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, told: LoginPassword) -> AuthResult:
        stub.logins.append(mechanism)
        right = (told.login, told.password) == (USERNAME.encode(), PASSWORD.encode())
        echoed = f"535 5.7.8 {told.password.decode()} is wrong"
        return AuthResult(success=right, handled=right, message=None if right else echoed)

    return SMTP(
        _Handler(stub, login),
        tls_context=tls if security == "starttls" else None,
        require_starttls=security == "starttls",
        authenticator=authenticate if login else None,
        auth_require_tls=False,
        data_size_limit=60_000_000,
    )


async def _serve(stub: MailServer, tls: ssl.SSLContext | None, security: str, login: bool, ready: threading.Event) -> None:
    loop = asyncio.get_running_loop()
    closing = asyncio.Event()
    stub.close = partial(loop.call_soon_threadsafe, closing.set)
    protocols: list[SMTP] = []

    def connected() -> SMTP:
        protocols.append(_protocol(stub, tls, security, login))
        return protocols[-1]

    server = await loop.create_server(connected, "127.0.0.1", 0, ssl=tls if security == "tls" else None)
    stub.port = server.sockets[0].getsockname()[1]
    ready.set()
    async with server:
        await closing.wait()
        # Connections whose handshake failed are not closed by anyone else.
        for transport in (one for protocol in protocols for one in (protocol.transport, protocol._original_transport)):
            if transport is not None:
                transport.abort()
        await asyncio.sleep(0.01)


@contextmanager
def mail_server(tls: ssl.SSLContext | None = None, security: str = "none", *, login: bool = False) -> Iterator[MailServer]:
    """The server, for the length of the block."""
    stub, ready = MailServer(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(stub, tls, security, login, ready)), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield stub
    finally:
        stub.close()
        thread.join(20)
