"""Backups: everything in one archive, in a form that belongs to no database, so that it can be brought back into any.

The archive (tar, gzip) holds `backup.json`, `rows/TABLE.jsonl` with one row per line, `workspaces/SESSION/...`, and last
`complete.json` with the counts, so that one that was cut off is known. Rows are those of one moment; files are read after it.
"""

import asyncio
import contextlib
import gzip
import io
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from sqlalchemy import Connection, LargeBinary, Table, func, insert, select, text

from zeno.core.errors import Conflict, Invalid
from zeno.stores.database import Database, steady
from zeno.stores.migrations import HEAD
from zeno.stores.tables import metadata

AT_ONCE = 500
"""Rows that are read and written in one go."""

SMALL = 8 << 20
"""Bytes of a file that are held in memory on its way into the archive."""

DERIVED = (".zeno", "tables")
"""The folder of a workspace that is left out: copies of tables, made again when they are asked for."""

STAGE = ".restore-"
"""How the folder begins into which files are unpacked, beside where they belong."""

FORMAT = 1


class _Damaged(Exception):
    """An archive that cannot be a whole backup."""


_UNREADABLE = (_Damaged, tarfile.TarError, EOFError, OSError, zlib.error, msgspec.DecodeError, KeyError)


class About(msgspec.Struct, frozen=True):
    """What a backup says of itself: made when, in milliseconds since 1970-01-01 UTC, by which version, of which schema."""

    created_at: int
    version: str
    schema: str
    format: int = FORMAT


class Held(msgspec.Struct, frozen=True):
    """What a backup holds. `left_out` counts files that are none, such as links, or that could not be read."""

    rows: dict[str, int]
    files: int
    bytes: int
    left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class Backups:
    """Backups of one installation."""

    database: Database
    workspaces: Path

    async def save(self, file: Path, *, at: int, version: str) -> Held:
        """Write everything into `file`, which is nobody else's to read.

        Raises `Conflict` when there is such a file already, and `Invalid` when it cannot be written. What is half written is
        removed.
        """
        if await asyncio.to_thread(file.exists):
            raise Conflict("backup_exists", path=str(file))
        about = About(at, version, HEAD)
        try:
            # Beside the file, which is on a disk with room; a dump is larger than the archive.
            with tempfile.TemporaryDirectory(prefix=".backup-", dir=file.parent) as folder:
                part = Path(folder, "archive")
                rows = await self.database.read(lambda connection: _dump(connection, Path(folder)))
                held = await asyncio.to_thread(_pack, part, Path(folder), about, rows, self.workspaces)
                # A link does not replace: of two backups at once to the same file one is told.
                await asyncio.to_thread(os.link, part, file)
        except FileExistsError:
            raise Conflict("backup_exists", path=str(file)) from None
        except OSError as error:
            raise Invalid("backup_unwritable", path=str(file), reason=error.strerror or str(error)) from None
        return held

    async def restore(self, file: Path) -> tuple[About, Held]:
        """Bring back everything that `file` holds, or nothing. No run has a driver then.

        Raises `Invalid` for what is no complete backup or of another schema, `Conflict` when the database or the directory for
        files is not empty.
        """
        await asyncio.to_thread(_require_no_files, self.workspaces)
        await self.database.read(_require_empty)
        stage = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=STAGE, dir=self.workspaces))
        try:
            about, held = await asyncio.to_thread(_unpack, file, stage)
            await self.database.write(lambda connection: _load_all(connection, stage, self.workspaces, held))
        except _UNREADABLE as error:
            raise Invalid("backup_unreadable", path=str(file), reason=str(error)[:200] or type(error).__name__) from None
        finally:
            await asyncio.to_thread(shutil.rmtree, stage, ignore_errors=True)
        return about, held


def _dump(connection: Connection, folder: Path) -> dict[str, int]:
    """Write the rows of all tables as they are at one moment."""
    steady(connection)
    counts = {}
    for table in metadata.sorted_tables:
        rows = connection.execute(select(table).order_by(*table.primary_key).execution_options(yield_per=AT_ONCE))
        with Path(folder, f"{table.name}.jsonl").open("wb") as lines:
            counts[table.name] = 0
            for row in rows.mappings():
                lines.write(msgspec.json.encode(dict(row)) + b"\n")
                counts[table.name] += 1
    return counts


def _pack(target: Path, folder: Path, about: About, rows: dict[str, int], workspaces: Path) -> Held:
    files = size = left_out = 0
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as output:  # noqa: PTH123 - it is private
        with tarfile.open(fileobj=output, mode="w:gz", compresslevel=6) as archive:
            _add(archive, "backup.json", io.BytesIO(msgspec.json.encode(about)))
            for name in rows:
                with Path(folder, f"{name}.jsonl").open("rb") as lines:
                    _add(archive, f"rows/{name}.jsonl", lines)
            for path in _files(workspaces):
                try:
                    size += _add_file(archive, path, f"workspaces/{path.relative_to(workspaces).as_posix()}")
                    files += 1
                except (FileNotFoundError, PermissionError, _NotAFile):
                    left_out += 1
            held = Held(rows, files, size, left_out)
            _add(archive, "complete.json", io.BytesIO(msgspec.json.encode(held)))
        output.flush()
        os.fsync(output.fileno())
    return held


class _NotAFile(Exception):
    """A link, a pipe or the like."""


def _files(workspaces: Path) -> Iterator[Path]:
    """What lies in the directories of conversations, links too."""
    for folder, folders, names in os.walk(workspaces):
        inside = Path(folder).relative_to(workspaces).parts
        if not inside:
            folders[:] = sorted(name for name in folders if not name.startswith(STAGE))
            continue
        if inside[1:] == DERIVED:
            folders.clear()
            continue
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _add_file(archive: tarfile.TarFile, path: Path, name: str) -> int:
    """Add a file as it is now: one that is being written to must not break the archive, so it is copied first."""
    if path.is_symlink() or not path.is_file():
        raise _NotAFile
    with path.open("rb") as source, tempfile.SpooledTemporaryFile(SMALL) as copy:
        shutil.copyfileobj(source, copy)
        return _add(archive, name, copy, int(path.stat().st_mtime))


def _add(archive: tarfile.TarFile, name: str, content: Any, modified: int = 0) -> int:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = content.seek(0, io.SEEK_END), 0o600, modified
    content.seek(0)
    archive.addfile(member, content)
    return member.size


def _require_no_files(workspaces: Path) -> None:
    workspaces.mkdir(parents=True, exist_ok=True)
    if any(path.is_dir() and any(path.iterdir()) for path in workspaces.iterdir() if path.name != "lost+found"):
        raise Conflict("restore_files_there", path=str(workspaces))


def _require_empty(connection: Connection) -> None:
    for table in metadata.sorted_tables:
        if connection.execute(select(table.primary_key.columns.values()[0]).limit(1)).first() is not None:
            raise Conflict("restore_not_empty", table=table.name)


def _unpack(file: Path, stage: Path) -> tuple[About, Held]:
    """Take a whole backup apart into `stage`."""
    about: About | None = None
    with gzip.open(file) as whole, tarfile.open(fileobj=whole, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is None:
                raise _Damaged(f"{member.name} is not a file")
            if about is None:
                about = msgspec.json.decode(content.read(), type=About)
                if about.schema != HEAD or about.format != FORMAT:
                    raise Invalid("backup_version", version=about.schema, known=HEAD)
            elif member.name == "complete.json":
                held = msgspec.json.decode(content.read(), type=Held)
                # Only at the very end gzip says whether every byte was what it had been.
                while whole.read(1 << 20):
                    pass
                return about, held
            else:
                _place(stage, member, content)
    raise _Damaged("its end is missing")


def _place(stage: Path, member: tarfile.TarInfo, content: Any) -> None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or name.parts[0] not in ("rows", "workspaces"):
        raise _Damaged(f"{member.name} does not belong there")
    target = stage.joinpath(*name.parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as output:
        shutil.copyfileobj(content, output)
    os.utime(target, (member.mtime, member.mtime))


def _load_all(connection: Connection, stage: Path, workspaces: Path, held: Held) -> None:
    """Write the rows, and put the files where they belong last of all: either all of it happens or nothing."""
    _require_empty(connection)
    for table in metadata.sorted_tables:
        if held.rows.get(table.name, 0) != _load(connection, table, stage / "rows" / f"{table.name}.jsonl"):
            raise _Damaged(f"rows of {table.name} are missing")
    if strange := held.rows.keys() - metadata.tables.keys():
        raise _Damaged(f"there is no table {min(strange)}")
    folder = stage / "workspaces"
    for directory in sorted(folder.iterdir()) if folder.is_dir() else ():
        target = workspaces / directory.name
        with contextlib.suppress(FileNotFoundError):
            target.rmdir()
        directory.rename(target)


def _load(connection: Connection, table: Table, file: Path) -> int:
    """Write the rows of one table: how many they are."""
    number = 0
    batch: list[dict[str, Any]] = []
    with file.open("rb") as lines:
        for line in lines:
            batch.append(_row(connection, table, msgspec.json.decode(line)))
            number += 1
            if len(batch) == AT_ONCE:
                connection.execute(insert(table), batch)
                batch = []
    if batch:
        connection.execute(insert(table), batch)
    if connection.dialect.name == "postgresql":
        _count_on(connection, table)
    return number


def _row(connection: Connection, table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for column in table.columns:
        value = row[column.name]
        if isinstance(column.type, LargeBinary) and value is not None:
            value = msgspec.convert(value, bytes)
        elif isinstance(value, str) and connection.dialect.name == "postgresql":
            # The one character that PostgreSQL's texts cannot hold.
            value = value.replace("\x00", "\ufffd")
        values[column.name] = value
    if table.name == "runs":
        values |= {"lease_owner": None, "lease_until": None}
    return values


def _count_on(connection: Connection, table: Table) -> None:
    """Have PostgreSQL count up from the numbers that were written; other databases do by themselves."""
    column = table.autoincrement_column
    if column is None:
        return
    named = {"table": table.name, "column": column.name}
    sequence = connection.scalar(text("select pg_get_serial_sequence(:table, :column)"), named)
    highest = connection.scalar(select(func.max(column)))
    if sequence and highest:
        connection.execute(
            text("select setval(cast(:sequence as regclass), :highest)"), {"sequence": sequence, "highest": highest}
        )
