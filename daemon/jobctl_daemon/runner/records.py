"""Intent, identity and result files: what outlives the runner.

Each is written whole under another name and renamed, without fsync: the death of a process loses nothing,
and after a power cut every attempt is lost anyway. Files are not deleted but written again: making and deleting
three files a command is slower than starting it (ext4 searches past every inode deleted in the last minutes).
"""

from __future__ import annotations

import contextlib
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTENT, IDENTITY, RESULT = "intent", "pid", "result"
_KINDS = (INTENT, IDENTITY, RESULT)
_LEFT = ".left-"
_KEEP_SPARE = 256
# Records are filled with spaces, which JSON allows, to one size: then a file written again need not be cut.
_FILL_BYTES = 1024


class Records:
    """The directory of record files, named ``RUNID-FENCE.KIND``."""

    __slots__ = ("_count", "_mine", "_reusable", "_spares", "directory")

    def __init__(self, directory: str, instance: str) -> None:
        self.directory = directory
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self._mine = _spare_prefix(instance)
        self._reusable: set[str] = set()
        self._spares: list[str] = []
        self._count = 0
        self.discard_spares(instance)

    def write(self, attempt_id: str, kind: str, payload: bytes) -> None:
        """Write one record; raises OSError, then there is none."""
        draft = self._spares.pop() if self._spares else self._new_name()
        final = f"{self.directory}/{attempt_id}.{kind}"
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                _write(descriptor, payload.ljust(_FILL_BYTES))
            finally:
                os.close(descriptor)
            os.rename(draft, final)
        except OSError:
            _unlink(draft)
            raise
        if len(payload) <= _FILL_BYTES:
            self._reusable.add(final)

    def exists(self, attempt_id: str) -> bool:
        """Tell whether anybody has claimed this attempt on disk."""
        return os.access(f"{self.directory}/{attempt_id}.{INTENT}", os.F_OK)

    def remove(self, attempt_id: str) -> None:
        """Remove an attempt's files; the result last: left alone it is reported again, which harms nothing."""
        for kind in (IDENTITY, INTENT, RESULT):
            path = f"{self.directory}/{attempt_id}.{kind}"
            if path not in self._reusable:
                _unlink(path)
                continue
            self._reusable.discard(path)
            self._keep_spare(path)

    def _keep_spare(self, path: str) -> None:
        if len(self._spares) >= _KEEP_SPARE:
            _unlink(path)
            return
        spare = self._new_name()
        with contextlib.suppress(OSError):
            os.rename(path, spare)
            self._spares.append(spare)

    def discard_spares(self, instance: str) -> None:
        """Delete the spare files of this runner, or of a dead one."""
        prefix = _spare_prefix(instance)
        for name in os.listdir(self.directory):
            if name.startswith(prefix):
                _unlink(f"{self.directory}/{name}")
        if prefix == self._mine:
            self._spares.clear()

    def _new_name(self) -> str:
        self._count += 1
        return f"{self.directory}/{self._mine}{self._count}"

    def scan(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return {id: {kind: record}}; drafts of the dead are left alone.

        A record that cannot be read is an empty one: its name still proves that there was an attempt.
        """
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for name in os.listdir(self.directory):
            attempt_id, _, kind = name.rpartition(".")
            if kind in _KINDS and _is_id(attempt_id):
                found.setdefault(attempt_id, {})[kind] = self._load(name) or {}
        return found

    def unfinished_of_run(self, run_id: int) -> list[str]:
        """Return the ids of a run's attempts that have an intent and no result."""
        prefix, names = f"{run_id}-", set(os.listdir(self.directory))
        ids = [name.rpartition(".")[0] for name in names if name.startswith(prefix) and name.endswith(f".{INTENT}")]
        return [attempt_id for attempt_id in ids if f"{attempt_id}.{RESULT}" not in names]

    # What commands left running: no records of attempts, so their names begin with a dot. Any runner may need them.

    def note_left(self, attempt_id: str, payload: bytes) -> None:
        """Write down what an attempt leaves behind; without room for that it is found by its marker only."""
        with contextlib.suppress(OSError):
            descriptor = os.open(self._left(attempt_id), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                _write(descriptor, payload)
            finally:
                os.close(descriptor)

    def left(self, run_id: int | None = None) -> dict[str, dict[str, Any]]:
        """Return {attempt id: what it left}, of one run or of all."""
        prefix = _LEFT if run_id is None else f"{_LEFT}{run_id}-"
        names = [name for name in os.listdir(self.directory) if name.startswith(prefix)]
        return {name.removeprefix(_LEFT): self._load(name) or {} for name in names}

    def forget_left(self, attempt_id: str) -> None:
        """Remove the note; harmless when there is none."""
        _unlink(self._left(attempt_id))

    def _left(self, attempt_id: str) -> str:
        return f"{self.directory}/{_LEFT}{attempt_id}"

    def _load(self, name: str) -> dict[str, Any] | None:
        try:
            with open(f"{self.directory}/{name}", "rb") as file:
                record = json.loads(file.read())
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None


def _is_id(text: str) -> bool:
    run_id, _, fence = text.partition("-")
    return run_id.isdecimal() and fence.isdecimal()


def _spare_prefix(instance: str) -> str:
    # ~ is in no name of a runner, so that of one is never the beginning of another's.
    return f".spare-{instance}~"


def _write(descriptor: int, payload: bytes) -> None:
    written = os.write(descriptor, payload)
    while written < len(payload):
        written += os.write(descriptor, payload[written:])


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
