import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.builtin.files import delete_file, read_file, write_temporary_file

CHINESE = "客户,城市,备注\n张三,上海,首次下单\n李四,深圳,老客户\n"
TRADITIONAL = "客戶,城市,備註\n張三,台北,首次下單\n李四,高雄,老客戶\n"
WESTERN = "name,city\nJosé,Málaga\nZoë,Köln\nprix 12 €, it’s 25 °C\n"


def context(workspace: Path) -> ToolContext:
    return ToolContext(run_id="trace-0001", call_id="call", workspace=workspace)


def read(workspace: Path, path: str, **options: Any) -> str:
    return asyncio.run(read_file.call({"path": path, **options}, context(workspace))).text


def facts(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.rpartition("```json\n")[2].removesuffix("\n```"))
    return found


def body(text: str) -> str:
    """The excerpt, between the conclusion and the supplement."""
    return text.partition("\n\n")[2].rpartition("\n\n```json")[0]


def read_failure(workspace: Path, path: str, **options: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        read(workspace, path, **options)
    return caught.value


def write(workspace: Path, path: str, text: str = "x", **options: Any) -> Any:
    return asyncio.run(write_temporary_file.call({"path": path, "text": text, **options}, context(workspace)))


def write_failure(workspace: Path, path: str, text: str = "x", **options: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        write(workspace, path, text, **options)
    return caught.value


@pytest.mark.parametrize(
    ("content", "written_in", "reported"),
    [
        (CHINESE, "utf-8", "utf-8"),
        (CHINESE, "utf-8-sig", "utf-8-sig"),
        (CHINESE, "utf-16", "utf-16"),
        (CHINESE, "utf-16-le", "utf-16-le"),
        ("一二三,abc\n一,def\n", "utf-16-be", "utf-16-be"),
        (CHINESE, "utf-32", "utf-32"),
        (CHINESE, "gb18030", "gb18030"),
        ("中文", "gb18030", "gb18030"),
        ("北京", "gb18030", "gb18030"),
        ("甲", "gb18030", "gb18030"),
        ("王珏,李璟,陈煜,张喆", "gb18030", "gb18030"),
        ("金额：￥1,200", "gb18030", "gb18030"),
        (TRADITIONAL, "big5", "big5hkscs"),
        ("金額", "big5", "big5hkscs"),
        (WESTERN, "cp1252", "cp1252"),
        ("Übergröße", "cp1252", "cp1252"),
        ("Вчера вечером я пошёл в магазин купить свежий хлеб.", "cp1251", "cp1251"),
        ("昨日の夜、パンを買いに店へ行きました。", "cp932", "cp932"),
        ("昨日の夜、パンを買いに店へ行きました。", "euc_jp", "euc_jp"),
        ("어제 저녁 신선한 빵을 사러 가게에 갔습니다. 이미 늦어서 모두 팔렸습니다.", "cp949", "cp949"),
        ("plain ASCII", "ascii", "utf-8"),
    ],
)
def test_a_text_is_read_in_the_encoding_it_is_in(tmp_path: Path, content: str, written_in: str, reported: str) -> None:
    (tmp_path / "a.txt").write_bytes(content.encode(written_in))
    text = read(tmp_path, "a.txt")
    assert body(text) == content.rstrip("\n")
    assert facts(text)["encoding"] == reported
    assert facts(text)["undecodable"] == 0


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "cp1252"])
def test_the_first_foreign_letter_may_come_late(tmp_path: Path, encoding: str) -> None:
    late = "é, ü" if encoding == "cp1252" else "备注"
    (tmp_path / "a.txt").write_bytes(b"ascii line\n" * 60_000 + late.encode(encoding))
    assert body(read(tmp_path, "a.txt", start_line=60_001)) == late


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_a_character_that_the_sample_cuts_is_no_damage(tmp_path: Path, encoding: str) -> None:
    for shift in range(4):
        (tmp_path / "a.txt").write_bytes(b"x" * shift + "销售额，".encode(encoding) * 40_000)
        found = facts(read(tmp_path, "a.txt"))
        assert (found["encoding"], found["undecodable"]) == (encoding, 0)


def test_unreadable_characters_are_counted_and_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("第一行正常\n第二".encode() + b"\xff\xfe" + "行\n".encode())
    text = read(tmp_path, "a.txt")
    assert "2 characters are unreadable" in text.splitlines()[0]
    assert body(text) == "第一行正常\n第二\ufffd\ufffd行"


def test_the_result_tells_how_to_read_on(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("".join(f"line {number}\n" for number in range(1, 1001)))
    first = read(tmp_path, "log.txt")
    size = (tmp_path / "log.txt").stat().st_size
    assert first.startswith(
        f"log.txt: lines 1 to 400, utf-8; the file has {size} bytes. More lines follow: read on with start_line=401."
    )
    last = read(tmp_path, "log.txt", start_line=facts(first)["next_start_line"], max_lines=600)
    assert body(last).splitlines()[0] == "line 401"
    assert body(last).splitlines()[-1] == "line 1000"
    assert facts(last)["next_start_line"] is None
    assert "follow" not in last.splitlines()[0]


def test_much_text_is_given_in_parts_that_add_up(tmp_path: Path) -> None:
    lines = [str(number) * 200 for number in range(1000, 2000)]
    (tmp_path / "long.txt").write_text("\n".join(lines))
    collected: list[str] = []
    following: int | None = 1
    while following:
        text = read(tmp_path, "long.txt", start_line=following, max_lines=5000)
        assert len(text) < 101_000
        collected += body(text).split("\n")
        following = facts(text)["next_start_line"]
    assert collected == lines


def test_a_line_without_end_is_cut_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text("a" * 250_000 + "\nsecond\n")
    text = read(tmp_path, "one.json")
    assert "Line 1 is too long: its last 150000 characters are left out." in text.splitlines()[0]
    assert "start_line=2" in text.splitlines()[0]
    assert body(read(tmp_path, "one.json", start_line=2)) == "second"


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    assert read(tmp_path, "empty.txt").startswith("empty.txt is empty.")


def test_a_line_past_the_end_is_an_error_that_tells_the_length(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\r\n2\r\n3")
    assert body(read(tmp_path, "a.txt", start_line=3)) == "3"
    assert "has 3 lines" in read_failure(tmp_path, "a.txt", start_line=4).message
    assert read_failure(tmp_path, "a.txt", start_line=0).code == "bad_arguments"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("sales.xlsx", b"PK\x03\x04rest", "Office document. Use read_table"),
        ("a.docx", b"PK\x03\x04rest", "ask for its content as .md or .txt"),
        ("a.pdf", b"%PDF-1.7 text", "a PDF document"),
        ("a.txt", b"\x89PNG\r\n\x1a\nrest", "a PNG image"),
        ("a.txt", b"\x7fELF rest", "a program"),
        ("a.txt", b"PAR1\x15\x04\x00\x00", "a Parquet file"),
        ("a.txt", b"\x1f\x8brest", "a gzip archive"),
        ("a.txt", b"\x00\x01\x02\x03" * 64, "a binary file"),
        ("a.txt", b"text\x01\x02\x03\x04" * 64, "a binary file"),
    ],
)
def test_a_binary_file_is_refused_with_its_kind_and_advice(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    error = read_failure(tmp_path, name)
    assert error.code == "binary_file"
    assert kind in error.message.replace(", not a text file", "")


def test_a_text_that_begins_like_a_binary_file_is_read(tmp_path: Path) -> None:
    for content in ("PAR1,PAR2\n1,2", "RIFF and reef", "GIF87 is a format"):
        (tmp_path / "a.txt").write_text(content)
        assert body(read(tmp_path, "a.txt")) == content


def test_only_regular_files_of_the_workspace_are_read(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "folder").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (workspace / "link.txt").symlink_to(tmp_path / "secret.txt")
    (workspace / "loop").symlink_to(workspace / "loop")
    os.mkfifo(workspace / "pipe")
    for path in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "folder/../../secret.txt", "~/x", ""):
        assert read_failure(workspace, path).code == "path_outside"
    assert read_failure(workspace, "pipe").code == "file_not_found"
    assert read_failure(workspace, "folder").code == "not_a_file"
    assert read_failure(workspace, "missing.txt").code == "file_not_found"


def test_a_text_is_written_as_given_and_reported_by_path_and_size(tmp_path: Path) -> None:
    content = "第一行\r\n第二行\n```json\n{}\n```"
    output = write(tmp_path, "notes/summary.md", content)
    (part,) = output.files
    assert (tmp_path / "notes" / "summary.md").read_bytes() == content.encode()
    assert (part.path, part.size, part.media_type) == ("notes/summary.md", len(content.encode()), "text/markdown")
    assert output.text.startswith(f"Wrote notes/summary.md ({part.size} bytes).")
    assert body(read(tmp_path, "notes/summary.md")) == content.replace("\r\n", "\n")
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["summary.md"]


def test_an_existing_file_is_kept_unless_overwriting_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "first")
    error = write_failure(tmp_path, "a.txt", "second")
    assert error.code == "file_exists"
    assert "overwrite" in error.message
    assert (tmp_path / "a.txt").read_text() == "first"
    write(tmp_path, "a.txt", "third", overwrite=True)
    assert (tmp_path / "a.txt").read_text() == "third"
    assert (tmp_path / "a.txt").stat().st_size == 5


def test_writing_the_same_again_is_no_error_so_it_may_be_repeated_after_a_crash(tmp_path: Path) -> None:
    first = write(tmp_path, "a.txt", "same")
    before = (tmp_path / "a.txt").stat().st_ino
    assert write(tmp_path, "a.txt", "same") == first
    assert (tmp_path / "a.txt").stat().st_ino == before
    assert write_failure(tmp_path, "a.txt", "some").code == "file_exists"
    assert write_temporary_file.spec.may_run_again


def test_the_size_of_a_file_is_limited_in_bytes(tmp_path: Path) -> None:
    limit = 5 * 1024 * 1024
    assert write(tmp_path, "most.txt", "a" * limit).files[0].size == limit
    error = write_failure(tmp_path, "more.txt", "中" * (limit // 3 + 1))
    assert error.code == "too_large"
    assert str(limit) in error.message


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../a.txt", "path_outside"),
        ("/tmp/a.txt", "path_outside"),
        ("C:\\a.txt", "path_outside"),
        ("", "path_outside"),
        (".", "path_outside"),
        ("out/a.txt", "path_outside"),
        (".env", "hidden_path"),
        (".git/config", "hidden_path"),
        ("a/.b/c.txt", "hidden_path"),
        ("plain/.hidden", "hidden_path"),
        ("alias", "hidden_path"),
        ("folder", "file_exists"),
        ("file.txt/a.txt", "not_writable"),
        ("a" * 300, "not_writable"),
    ],
)
def test_nothing_is_written_outside_hidden_or_over_a_folder(tmp_path: Path, path: str, code: str) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "folder").mkdir(parents=True)
    (workspace / "file.txt").write_text("kept")
    (workspace / "out").symlink_to(tmp_path)
    (workspace / "alias").symlink_to(workspace / ".secret")
    before = sorted(tmp_path.rglob("*"))
    assert write_failure(workspace, path, overwrite=True).code == code
    assert sorted(tmp_path.rglob("*")) == before
    assert (workspace / "file.txt").read_text() == "kept"


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    assert write_failure(tmp_path, "a.txt", "\ud800").code == "bad_text"


def delete(workspace: Path, path: str) -> str:
    return asyncio.run(delete_file.call({"path": path}, context(workspace))).text


def verified(workspace: Path, path: str) -> str | None:
    output = asyncio.run(delete_file.verify({"path": path}, context(workspace)))
    return output.text if output else None


def test_a_deleted_file_is_gone_and_told_with_its_size(tmp_path: Path) -> None:
    write(tmp_path, "notes/a.txt", "12345")
    write(tmp_path, "notes/b.txt")
    assert delete(tmp_path, "notes/a.txt") == "Deleted notes/a.txt (5 bytes)."
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["b.txt"]
    assert delete_file.spec.effect == "danger"
    assert not delete_file.spec.may_run_again


def test_after_an_interruption_the_disk_tells_whether_a_file_was_deleted(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    assert verified(tmp_path, "a.txt") is None
    delete(tmp_path, "a.txt")
    assert verified(tmp_path, "a.txt") == "Deleted a.txt: it is gone."
    assert verified(tmp_path, "../a.txt") is None


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("missing.txt", "file_not_found"),
        ("folder", "not_a_file"),
        ("../outside.txt", "path_outside"),
        ("out", "path_outside"),
        ("", "path_outside"),
        (".", "path_outside"),
        (".env", "hidden_path"),
        (".zeno/state.db", "hidden_path"),
        ("alias", "not_a_file"),
        ("mirror/inner.txt", None),
        ("secret_alias", "hidden_path"),
        ("pipe", "file_not_found"),
    ],
)
def test_only_a_plain_file_of_the_workspace_is_deleted(tmp_path: Path, path: str, code: str | None) -> None:
    workspace = tmp_path / "workspace"
    for name in ("folder/inner.txt", ".env", ".zeno/state.db", "file.txt", "../outside.txt"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("kept")
    (workspace / "out").symlink_to(tmp_path / "outside.txt")
    (workspace / "alias").symlink_to(workspace / "file.txt")
    (workspace / "secret_alias").symlink_to(workspace / ".env")
    (workspace / "mirror").symlink_to(workspace / "folder")
    os.mkfifo(workspace / "pipe")
    before = sorted(tmp_path.rglob("*"))
    if code is None:
        delete(workspace, path)
        assert not (workspace / "folder" / "inner.txt").exists()
        return
    with pytest.raises(ToolFailed) as caught:
        delete(workspace, path)
    assert caught.value.code == code
    assert sorted(tmp_path.rglob("*")) == before
