import asyncio
import ssl
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.door import Door, call, calls
from tests.stubs.mail_server import PASSWORD, USERNAME, MailServer, mail_server
from zeno.core.errors import ConfigError, EffectUnknown, ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.builtin.mail import MailServer as Configured
from zeno.tools.builtin.mail import send_email_tool

NOON = 1_788_955_200_000
"""2026-09-09 12:00 UTC."""


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


def send(server: MailServer, workspace: Path, call_id: str = "call", **arguments: Any) -> str:
    settings = {name: arguments.pop(name) for name in list(arguments) if name in Configured.__dataclass_fields__}
    configured = Configured(
        **{"host": "127.0.0.1", "port": server.port, "security": "none", "sender": "Zeno <zeno@example.com>"} | settings
    )
    tool = send_email_tool(configured, lambda: NOON, seconds=arguments.pop("seconds", 20))
    given = {"to": ["ann@example.com"], "subject": "Hello", "text": "How are you?"} | arguments
    return asyncio.run(tool.call(given, ToolContext("run", call_id, workspace))).text


def failure(server: MailServer, workspace: Path, **arguments: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        send(server, workspace, **arguments)
    return caught.value


def certain(server: MailServer, workspace: Path, **arguments: Any) -> ToolFailed:
    """A failure that says that nothing was sent, and for which nothing was."""
    error = failure(server, workspace, **arguments)
    assert not isinstance(error, EffectUnknown)
    assert server.letters == []
    return error


def only(server: MailServer) -> EmailMessage:
    (letter,) = server.letters
    return letter


def test_a_mail_arrives_as_it_was_written(server: MailServer, tmp_path: Path) -> None:
    said = send(
        server, tmp_path, to=["Ann Li <ann@example.com>", "bob@example.com"], cc=["cid@example.com"], text="Hi\n.\nBye\n"
    )
    letter = only(server)
    assert (letter["From"], letter["To"], letter["Cc"]) == (
        "Zeno <zeno@example.com>",
        "Ann Li <ann@example.com>, bob@example.com",
        "cid@example.com",
    )
    assert letter["Date"] == "Wed, 09 Sep 2026 12:00:00 +0000"
    assert letter.get_content().replace("\r\n", "\n") == "Hi\n.\nBye\n"
    assert server.envelopes == [["ann@example.com", "bob@example.com", "cid@example.com"]]
    assert said.startswith("The mail 'Hello' was accepted for ann@example.com, bob@example.com, cid@example.com (")
    assert letter["Message-ID"] in said


def test_chinese_stays_chinese_in_subject_names_text_and_attachment_and_is_ascii_on_the_wire(
    server: MailServer, tmp_path: Path
) -> None:
    (tmp_path / "周报 九月.docx").write_bytes(b"PK\x03\x04" + bytes(range(256)))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("第一行\n", "utf-8")
    text = "各位好：\n" + "本周销售额上升了百分之十二。" * 40
    subject = "九月第一周的销售周报，请查收（含图表与数据），如有问题请随时联系我们" * 2
    send(
        server,
        tmp_path,
        to=["张三 <zhang@example.com>"],
        subject=subject,
        text=text,
        attachments=["周报 九月.docx", "notes/a.txt"],
    )
    letter = only(server)
    assert letter["Subject"] == subject
    assert letter["To"].addresses[0].display_name == "张三"
    body, document, notes = letter.walk().__next__() and list(letter.iter_parts())
    assert body.get_content().replace("\r\n", "\n").rstrip("\n") == text
    assert (document.get_filename(), document.get_content()) == ("周报 九月.docx", b"PK\x03\x04" + bytes(range(256)))
    assert document.get_content_type().endswith("wordprocessingml.document")
    assert (notes.get_filename(), notes.get_content_type()) == ("a.txt", "text/plain")
    assert server.raw[0].isascii()
    assert max(map(len, server.raw[0].split(b"\r\n"))) <= 998


def test_the_same_call_has_the_same_message_id_and_another_call_another(server: MailServer, tmp_path: Path) -> None:
    for call_id in ("one", "one", "two"):
        send(server, tmp_path, call_id)
    first, again, other = (letter["Message-ID"] for letter in server.letters)
    assert first == again != other
    assert first.endswith("@example.com>")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"subject": "Hello\r\nBcc: eve@example.com"}, "bad_subject"),
        ({"subject": "Hello\nX: y"}, "bad_subject"),
        ({"subject": "Hello\u2028there"}, "bad_subject"),
        ({"subject": " "}, "bad_subject"),
        ({"subject": "x" * 501}, "bad_subject"),
        ({"to": []}, "bad_recipient"),
        ({"to": ["ann@example.com\r\nBcc: eve@example.com"]}, "bad_recipient"),
        ({"to": ["Ann\nBcc: eve@example.com <ann@example.com>"]}, "bad_recipient"),
        ({"to": ["ann@example.com, eve@example.com"]}, "bad_recipient"),
        ({"to": ["ann"]}, "bad_recipient"),
        ({"to": ["@example.com"]}, "bad_recipient"),
        ({"to": ["ann@"]}, "bad_recipient"),
        ({"to": ["ann@exa mple.com"]}, "bad_recipient"),
        ({"to": ["ann@example..com"]}, "bad_recipient"),
        ({"to": ["安@example.com"]}, "bad_recipient"),
        ({"to": ["<ann@example.com> <eve@example.com>"]}, "bad_recipient"),
        ({"cc": ["ann@example.com>\r\nRCPT TO:<eve@example.com"]}, "bad_recipient"),
        ({"to": [f"a{number}@example.com" for number in range(51)]}, "too_many"),
        ({"text": "\ud800"}, "bad_text"),
        ({"attachments": ["missing.txt"]}, "file_not_found"),
        ({"attachments": ["../secret.txt"]}, "path_outside"),
        ({"attachments": ["link.txt"]}, "path_outside"),
        ({"attachments": [".env"]}, "hidden_path"),
        ({"attachments": ["half.bin", "half.bin"]}, "too_large"),
    ],
)
def test_what_cannot_or_must_not_be_sent_is_refused_before_the_server_hears_of_it(
    server: MailServer, tmp_path: Path, arguments: dict[str, Any], code: str
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (workspace / "link.txt").symlink_to(tmp_path / "secret.txt")
    (workspace / ".env").write_text("secret")
    (workspace / "half.bin").write_bytes(b"x" * (8 * 1024 * 1024))
    assert certain(server, workspace, **arguments).code == code
    assert not server.raw


def test_an_international_domain_is_written_in_ascii(server: MailServer, tmp_path: Path) -> None:
    send(server, tmp_path, to=["ann@例子.测试"])
    assert server.envelopes == [["ann@xn--fsqu00a.xn--0zwm56d"]]


def test_only_recipients_that_the_operator_allows_are_written_to(server: MailServer, tmp_path: Path) -> None:
    allowed = {"allowed_recipients": ["*@example.com", "boss@other.example"]}
    error = certain(server, tmp_path, to=["ann@example.com"], cc=["eve@evil.example", "x@sub.example.com"], **allowed)
    assert error.code == "recipient_not_permitted"
    assert "eve@evil.example, x@sub.example.com" in error.message
    assert "ann@" not in error.message
    send(server, tmp_path, to=["ANN@Example.COM", "Boss <boss@other.example>"], **allowed)
    assert len(server.envelopes[0]) == 2


def test_a_refused_recipient_is_reported_and_the_others_get_the_mail(server: MailServer, tmp_path: Path) -> None:
    server.refused = {"bob@example.com"}
    said = send(server, tmp_path, to=["ann@example.com", "bob@example.com"])
    assert server.envelopes == [["ann@example.com"]]
    assert "accepted for ann@example.com (" in said
    assert "NOT sent to: bob@example.com: 550 5.1.1 <bob@example.com>: no such person" in said


def test_a_mail_that_nobody_is_to_get_is_not_sent(server: MailServer, tmp_path: Path) -> None:
    server.refused = {"ann@example.com"}
    assert certain(server, tmp_path).code == "recipients_refused"
    assert not server.raw


@pytest.mark.parametrize("answer", ["554 5.7.1 looks like spam", "452 4.3.1 no room"])
def test_a_mail_that_the_server_refuses_after_reading_it_was_not_sent(server: MailServer, tmp_path: Path, answer: str) -> None:
    server.answer = answer
    error = certain(server, tmp_path)
    assert error.code == "mail_refused"
    assert answer[:3] in error.message


def test_a_connection_lost_before_the_message_is_certain(server: MailServer, tmp_path: Path) -> None:
    server.drops = "mail"
    assert certain(server, tmp_path).code == "mail_refused"


def test_a_server_that_is_not_there_is_certain(tmp_path: Path) -> None:
    with mail_server() as gone:
        pass
    assert certain(gone, tmp_path).code == "mail_refused"


def test_a_connection_lost_after_the_message_leaves_its_fate_unknown(server: MailServer, tmp_path: Path) -> None:
    server.drops = "data"
    error = failure(server, tmp_path)
    assert isinstance(error, EffectUnknown)
    assert "whether it was accepted is unknown" in error.message
    assert len(server.raw) == 1


def test_an_answer_that_stays_out_leaves_the_fate_of_the_mail_unknown(server: MailServer, tmp_path: Path) -> None:
    server.silent = True
    assert isinstance(failure(server, tmp_path, seconds=0.5), EffectUnknown)
    assert server.arrived.is_set()


def certificates(name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For the server and for the client."""
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert(name).configure_cert(server)
    authority.configure_trust(client)
    return server, client


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_mail_goes_over_an_encrypted_connection_with_a_password(tmp_path: Path, security: str) -> None:
    theirs, ours = certificates("127.0.0.1")
    with mail_server(theirs, security, login=True) as server:
        send(server, tmp_path, security=security, tls=ours, username=USERNAME, password=PASSWORD)
        assert len(server.letters) == 1
        assert server.logins


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_a_certificate_for_another_name_ends_the_attempt(tmp_path: Path, security: str) -> None:
    theirs, ours = certificates("other.example")
    with mail_server(theirs, security, login=True) as server:
        error = certain(server, tmp_path, security=security, tls=ours, username=USERNAME, password=PASSWORD)
        assert "certificate" in error.message
        assert server.logins == []


def test_a_server_without_encryption_is_not_given_a_password_when_encryption_is_asked_for(tmp_path: Path) -> None:
    with mail_server(login=True) as server:
        certain(server, tmp_path, security="starttls", username=USERNAME, password=PASSWORD)
        assert server.logins == []


def test_a_wrong_password_is_reported_without_the_password_although_the_server_repeats_it(tmp_path: Path) -> None:
    with mail_server(login=True) as server:
        error = certain(server, tmp_path, username=USERNAME, password="sesame-open")
        assert server.logins
        assert "535" in error.message
        assert "sesame" not in error.message
        assert "sesame" not in repr(Configured(host="x", sender="a@example.com", password="sesame"))


def test_a_sender_that_is_no_address_is_the_operators_to_correct() -> None:
    with pytest.raises(ConfigError) as caught:
        send_email_tool(Configured(host="127.0.0.1", sender="nobody"), lambda: NOON)
    assert caught.value.code == "mail_sender_invalid"


def test_a_run_has_the_tool_only_when_a_server_is_configured_and_sends_what_was_permitted(
    server: MailServer, door: Door
) -> None:
    assert "send_email" not in door.zeno("tools").out
    door.env |= {
        "ZENO_TOOLS__MAIL__HOST": "127.0.0.1",
        "ZENO_TOOLS__MAIL__PORT": str(server.port),
        "ZENO_TOOLS__MAIL__SECURITY": "none",
        "ZENO_TOOLS__MAIL__SENDER": "zeno@example.com",
    }
    asked = call("send_email", to=["ann@example.com"], subject="Hello", text="Hi")
    model = door.script(calls(asked), {"text": "done"})
    outcome = door.run("mail Ann", "--model", model, "--yes")
    assert outcome.of("tool_finished")[0]["result"]["outcome"] == "done", outcome.err
    assert only(server)["Subject"] == "Hello"
