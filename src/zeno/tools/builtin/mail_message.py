"""A mail as the bytes that go over the wire. Knows headers, addresses and files; knows no server.

A header is one line: what holds a line break is refused, not cleaned, because it is an attempt to write other headers.
"""

import hashlib
import mimetypes
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path, PurePosixPath

from msgspec import Struct

from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.workspace import existing

MOST_ATTACHED = 15 * 1024 * 1024
_MOST_SUBJECT = 500
_NAMED = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]*)>")
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN = re.compile(r"(?:(?!-)[a-z0-9-]{1,63}(?<!-)\.)*(?!-)[a-z0-9-]{1,63}(?<!-)")
_UNSENDABLE = "Nothing was sent."


class Letter(Struct, frozen=True):
    """What is to be sent; addresses as people write them, attachments as paths of the workspace."""

    sender: str
    to: Sequence[str]
    cc: Sequence[str]
    subject: str
    text: str
    attachments: Sequence[str]


def address_of(written: str) -> str:
    """The bare address in "Ann <ann@example.com>" or "ann@example.com", its domain in ASCII. Raises `ToolFailed`."""
    return _parsed(written).addr_spec


def message_id(ctx: ToolContext, sender: str) -> str:
    """The same for the same call, so that a receiver can tell a repetition from a second mail."""
    digest = hashlib.sha256(f"{ctx.run_id}\n{ctx.call_id}".encode()).hexdigest()[:32]
    return f"<{digest}@{_parsed(sender).domain}>"


def composed(letter: Letter, workspace: Path, identity: str, now: int) -> bytes:
    """The whole message in ASCII, lines ended by CR LF; `now` in milliseconds. Raises `ToolFailed` when it cannot be."""
    message = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
    message["Message-ID"] = identity
    message["Date"] = datetime.fromtimestamp(now / 1000, UTC)
    message["From"] = _parsed(letter.sender)
    message["To"] = [_parsed(written) for written in letter.to]
    if letter.cc:
        message["Cc"] = [_parsed(written) for written in letter.cc]
    message["Subject"] = _one_line(letter.subject)
    try:
        message.set_content(letter.text)
        room = MOST_ATTACHED
        for path in letter.attachments:
            content = _read(workspace, path, room)
            room -= len(content)
            kind, encoding = mimetypes.guess_type(path)
            main, _, sub = (kind if kind and not encoding else "application/octet-stream").partition("/")
            if main in ("message", "multipart"):
                main, sub = "application", "octet-stream"
            message.add_attachment(content, maintype=main, subtype=sub, filename=PurePosixPath(path).name)
        return message.as_bytes()
    except UnicodeEncodeError:
        raise ToolFailed(
            f"The mail holds half a character (a lone surrogate). Correct it. {_UNSENDABLE}", code="bad_text"
        ) from None


def _parsed(written: str) -> Address:
    named = _NAMED.fullmatch(written.strip())
    name, address = (named["name"].strip().strip('"'), named["address"]) if named else ("", written.strip())
    local, at, domain = address.rpartition("@")
    try:
        domain = domain.encode("idna").decode("ascii").lower()
    except UnicodeError:
        domain = ""
    whole = at and len(local) <= 64 and _LOCAL.fullmatch(local) and len(domain) <= 253 and _DOMAIN.fullmatch(domain)
    if not whole or not name.isprintable():
        raise ToolFailed(
            f"{written[:200]!r} is not a mail address. Give one such as ann@example.com. {_UNSENDABLE}", code="bad_recipient"
        )
    return Address(display_name=name, username=local, domain=domain)


def _one_line(subject: str) -> str:
    if not subject.strip() or not subject.isprintable() or len(subject) > _MOST_SUBJECT:
        raise ToolFailed(
            f"The subject must be one line of 1 to {_MOST_SUBJECT} characters, without line breaks. {_UNSENDABLE}",
            code="bad_subject",
        )
    return subject


def _read(workspace: Path, path: str, most: int) -> bytes:
    """A file of the workspace, opened without following a link that has taken its place since its path was checked."""
    found = existing(workspace, path)
    if any(part.startswith(".") for part in (*PurePosixPath(path).parts, *found.relative_to(workspace.resolve()).parts)):
        raise ToolFailed(f"{path!r} is hidden. Hidden files are not sent. {_UNSENDABLE}", code="hidden_path")
    try:
        with os.fdopen(os.open(found, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise ToolFailed(f"{path!r} cannot be read: {error.strerror}. {_UNSENDABLE}", code="not_readable") from None
    if len(content) > most:
        raise ToolFailed(
            f"The attachments have more than {MOST_ATTACHED // 1024 // 1024} MiB. Attach less. {_UNSENDABLE}", code="too_large"
        )
    return content
