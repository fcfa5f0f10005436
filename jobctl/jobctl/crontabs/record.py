"""What an import did, on disk: enough to finish it after a crash and to undo it.

`STATE/imports/ID/manifest.json`, and each original table byte for byte beside it.

    begun ──jobs made, paused──► created ──lines commented out──► commented ──jobs resumed──► done ──► rolled back

One of a whole host (handover.py) has other steps:

    begun ──► stopping ──cron is gone──► stopped ──tables are live──► live ──checked──► done ──► undoing ──► rolled back
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from jobctl.errors import Conflict, Forbidden, NotFound

from .live import LiveTable

Json = dict[str, Any]

_MANIFEST = "manifest.json"
UNFINISHED = ("begun", "created", "commented")
UNFINISHED_HOST = ("begun", "stopping", "stopped", "live", "undoing")


@dataclass
class TakenTable:
    """A live table that an import takes lines from. `lines` are their texts in hex: they need not be UTF-8."""

    path: str
    owner: str | None
    own: bool
    lines: list[str]
    original: str
    """The file beside the manifest that holds the table as it was."""

    def live(self, data: bytes = b"") -> LiveTable:
        return LiveTable(self.path, data, self.owner, self.own)

    def line_bytes(self) -> list[bytes]:
        return [bytes.fromhex(line) for line in self.lines]


@dataclass
class TakenHost:
    """What of cron there was, for bringing it back, and the instant from which jobd counts (RFC 3339)."""

    processes: list[Json] = field(default_factory=list)
    services: list[Json] = field(default_factory=list)
    since: str | None = None


@dataclass
class Record:
    """One import. `resume` are the names of the jobs that go to work once the lines are commented out; `host` is set
    where the files were taken over as they stand."""

    id: str
    created_at: str
    state: str = "begun"
    tables: list[TakenTable] = field(default_factory=list)
    resume: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    host: TakenHost | None = None

    @property
    def unfinished(self) -> bool:
        """Whether a crash cut it short."""
        return self.state in (UNFINISHED if self.host is None else UNFINISHED_HOST)

    @property
    def tag(self) -> str:
        return f"import-{self.id}"


class Records:
    """The imports of one caller."""

    def __init__(self, state_dir: str) -> None:
        self._folder = os.path.join(state_dir, "imports")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Two imports at once would make every job twice."""
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            descriptor = os.open(os.path.join(self._folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Forbidden(f"{self._folder} cannot be written", details={"why": error.strerror}) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise Conflict("another import is at work", "wait until it has ended") from error
        try:
            yield
        finally:
            os.close(descriptor)

    def all(self) -> list[Record]:
        """Oldest first."""
        ids = sorted(os.listdir(self._folder)) if os.path.isdir(self._folder) else []
        return [record for record in map(self._load, ids) if record]

    def find(self, ident: str | None) -> Record:
        """The import of this id, or the last one that is not undone yet."""
        records = self.all()
        if ident is None:
            records = [record for record in records if record.state != "rolled back"]
        else:
            records = [record for record in records if record.id == ident]
        if not records:
            what = f"no import {ident!r}" if ident else "no import to undo"
            raise NotFound(f"there is {what}", f"the imports are in {self._folder}")
        return records[-1]

    def begin(self, record: Record, originals: list[bytes]) -> None:
        os.makedirs(self._path(record.id), mode=0o700)
        for table, data in zip(record.tables, originals, strict=True):
            self._write(record.id, table.original, data)
        self.save(record)

    def save(self, record: Record) -> None:
        text = json.dumps({"schema": 1, **asdict(record)}, indent=2)
        self._write(record.id, _MANIFEST, text.encode())

    def original(self, record: Record, table: TakenTable) -> bytes:
        with open(os.path.join(self._path(record.id), table.original), "rb") as file:
            return file.read()

    def original_path(self, record: Record, table: TakenTable) -> str:
        return os.path.join(self._path(record.id), table.original)

    def _path(self, ident: str) -> str:
        return os.path.join(self._folder, ident)

    def _write(self, ident: str, name: str, data: bytes) -> None:
        path = os.path.join(self._path(ident), name)
        descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.rename(path + ".new", path)

    def _load(self, ident: str) -> Record | None:
        try:
            with open(os.path.join(self._path(ident), _MANIFEST), "rb") as file:
                value: dict[str, Any] = json.load(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        tables = [TakenTable(**table) for table in value["tables"]]
        host = TakenHost(**value["host"]) if value.get("host") else None
        return Record(value["id"], value["created_at"], value["state"], tables, value["resume"], value["jobs"], host)
