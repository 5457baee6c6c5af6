"""Mail over SMTP. Knows one server, addresses and attachments of the workspace; the message itself is put together next door.

What happens before the server has the message is certain; once it has been handed over and no answer comes back, nobody knows.
"""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Literal

from zeno.core.errors import ConfigError, EffectUnknown, ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.function import FunctionTool, tool
from zeno.tools.thread import in_thread

if TYPE_CHECKING:
    from aiosmtplib import SMTP

    from zeno.tools.builtin.mail_message import Letter

Security = Literal["none", "starttls", "tls"]

MOST_RECIPIENTS = 50
_SECONDS = 30.0
_UNSENT = "Nothing was sent."


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """Where mail is handed in. `sender` is the address that it comes from, with a name or without.

    `allowed_recipients` are patterns such as "*@example.com"; without any, everybody may be written to. `tls` is what
    certificates are checked with, instead of the system's authorities.
    """

    host: str
    port: int = 587
    security: Security = "starttls"
    username: str = ""
    password: str = field(default="", repr=False)
    sender: str
    allowed_recipients: Sequence[str] = ()
    tls: ssl.SSLContext | None = field(default=None, repr=False)


def send_email_tool(server: MailServer, now: Callable[[], int], *, seconds: float = _SECONDS) -> FunctionTool:
    """The tool `send_email` over one server. `now` is the time in milliseconds, `seconds` how long one answer may take.

    Raises `ConfigError` when the sender is no address.
    """
    from zeno.tools.builtin.mail_message import Letter, address_of, composed, message_id

    try:
        sender = address_of(server.sender)
    except ToolFailed:
        raise ConfigError("mail_sender_invalid", sender=server.sender) from None

    @tool(effect="danger", source="smtp", timeout=seconds * 7)
    async def send_email(
        to: list[str],
        subject: str,
        text: str,
        ctx: ToolContext,
        cc: list[str] = [],  # noqa: B006 (the tool copies its defaults)
        attachments: list[str] = [],  # noqa: B006
    ) -> str:
        """Send an email with plain text and files of the workspace attached.

        Use it only when someone asks for a mail to be sent, with the recipients that they named. Write the whole text; nothing
        is added to it. The result tells who the mail was accepted for. Do not send it again when its fate is unknown.

        Args:
            to: Addresses of the recipients, such as "ann@example.com" or "Ann <ann@example.com>".
            subject: The subject, in one line.
            text: The text of the mail.
            ctx: Where the call happens.
            cc: Addresses that get a copy, seen by all.
            attachments: Paths of files of the workspace, at most 15 MiB in all.
        """
        letter = Letter(sender=server.sender, to=to, cc=cc, subject=subject, text=text, attachments=attachments)
        recipients = _permitted(letter, server.allowed_recipients)
        identity = message_id(ctx, server.sender)
        content = await in_thread(partial(composed, letter, ctx.workspace, identity, now()), "mail")
        refused = await _handed_in(server, sender, recipients, content, seconds)
        accepted = [recipient for recipient in recipients if recipient not in refused]
        said = f"The mail {subject!r} was accepted for {', '.join(accepted)} ({len(content)} bytes, Message-ID {identity})."
        if refused:
            listed = "; ".join(f"{recipient}: {reason}" for recipient, reason in refused.items())
            said += f" It was NOT sent to: {listed}. Tell the user; the others have it."
        return said

    return send_email


def _permitted(letter: "Letter", patterns: Sequence[str]) -> list[str]:
    """The bare addresses of all recipients, each once. Raises `ToolFailed` when one is none or not permitted."""
    from zeno.tools.builtin.mail_message import address_of

    if not letter.to:
        raise ToolFailed(f"There is no recipient. Give at least one address in `to`. {_UNSENT}", code="bad_recipient")
    found = list(dict.fromkeys(address_of(written) for written in (*letter.to, *letter.cc)))
    if len(found) > MOST_RECIPIENTS:
        raise ToolFailed(f"There are {len(found)} recipients, the limit is {MOST_RECIPIENTS}. {_UNSENT}", code="too_many")
    closed = [one for one in found if patterns and not any(fnmatchcase(one.lower(), pattern.lower()) for pattern in patterns)]
    if closed:
        raise ToolFailed(
            f"Mail to {', '.join(closed)} is not permitted by the operator; permitted: {', '.join(patterns)}. {_UNSENT}",
            code="recipient_not_permitted",
        )
    return found


async def _handed_in(
    server: MailServer, sender: str, recipients: Sequence[str], content: bytes, seconds: float
) -> dict[str, str]:
    """Hand the message over; gives the recipients that the server refused, with its reasons."""
    from aiosmtplib import SMTPException

    client = _client(server, seconds)
    try:
        try:
            async with asyncio.timeout(2 * seconds):
                await client.connect()
                await client.mail(sender, options=_size_option(client, content))
                refused = await _named(client, recipients)
        except (SMTPException, OSError, ValueError) as error:
            raise ToolFailed(
                f"The mail server {server.host} did not take the mail: {_reason(error, server)}. {_UNSENT} Tell the user.",
                code="mail_refused",
            ) from None
        if len(refused) == len(recipients):
            listed = "; ".join(f"{recipient}: {reason}" for recipient, reason in refused.items())
            raise ToolFailed(f"No recipient was accepted: {_safe(listed, server)}. {_UNSENT}", code="recipients_refused")
        await _sent(client, server, content, seconds)
        return {recipient: _safe(reason, server) for recipient, reason in refused.items()}
    finally:
        await _parted(client)


async def _sent(client: "SMTP", server: MailServer, content: bytes, seconds: float) -> None:
    """The message itself: from here on, an answer that stays out leaves the fate of the mail unknown."""
    from aiosmtplib import SMTPDataError, SMTPException

    if not client.is_connected:
        raise ToolFailed(f"The mail server {server.host} closed the connection. {_UNSENT}", code="mail_refused")
    try:
        await client.data(content, timeout=2 * seconds)  # servers look for spam before they answer
    except SMTPDataError as error:
        if error.code >= 400:
            raise ToolFailed(
                f"The mail server {server.host} refused the mail: {_reason(error, server)}. {_UNSENT} Tell the user.",
                code="mail_refused",
            ) from None
        raise _unknown(server, error) from None
    except (SMTPException, OSError) as error:
        raise _unknown(server, error) from None


def _unknown(server: MailServer, error: Exception) -> EffectUnknown:
    return EffectUnknown(
        f"The mail was handed to {server.host}, but whether it was accepted is unknown: {_reason(error, server)}. Do not send "
        f"it again before someone has checked; tell the user.",
        code="mail_unanswered",
    )


async def _named(client: "SMTP", recipients: Sequence[str]) -> dict[str, str]:
    from aiosmtplib import SMTPRecipientRefused

    refused = {}
    for recipient in recipients:
        try:
            await client.rcpt(recipient)
        except SMTPRecipientRefused as error:
            refused[recipient] = f"{error.code} {error.message}"
    return refused


def _client(server: MailServer, seconds: float) -> "SMTP":
    from aiosmtplib import SMTP

    return SMTP(
        hostname=server.host,
        port=server.port,
        username=server.username or None,
        password=server.password or None,
        # A literal: the name of this machine is nobody's business, and finding it may take long.
        local_hostname="[127.0.0.1]",
        timeout=seconds,
        use_tls=server.security == "tls",
        start_tls=server.security == "starttls",
        tls_context=server.tls,
    )


def _size_option(client: "SMTP", content: bytes) -> list[str]:
    """Tell the size beforehand where the server wants to know, so that it can refuse what is too large for it."""
    return [f"SIZE={len(content)}"] if client.supports_extension("size") else []


async def _parted(client: "SMTP") -> None:
    """Say goodbye, a moment at most; the mail's fate is known by now."""
    from aiosmtplib import SMTPException

    transport = client.transport
    with contextlib.suppress(SMTPException, OSError, TimeoutError):
        if client.is_connected:
            async with asyncio.timeout(1):
                await client.quit()
    client.close()
    if isinstance(transport, asyncio.WriteTransport):
        # Encrypted connections close in the background, which nobody waits for when the run ends here.
        transport.abort()


def _reason(error: Exception, server: MailServer) -> str:
    code = getattr(error, "code", "")
    words = getattr(error, "message", "") or str(error) or type(error).__name__
    return _safe(f"{code} {words}".strip(), server)


def _safe(text: str, server: MailServer) -> str:
    """One line without the password: servers have been seen to repeat what they were sent, also as it was sent."""
    if server.password:
        forms = (server.password, f"\0{server.username}\0{server.password}")
        for secret in (*(base64.b64encode(form.encode()).decode() for form in forms), server.password):
            text = text.replace(secret, "***")
    return " ".join(text.split())[:300].rstrip(".")
