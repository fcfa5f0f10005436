"""Intent, identity and result files: what outlives the runner.

Each is written whole under another name and renamed, without fsync: the death of a process loses nothing,
and after a power cut every attempt is lost anyway.
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


class Records:
    """The directory of record files, named ``RUNID-FENCE.KIND``."""

    __slots__ = ("directory",)

    def __init__(self, directory: str) -> None:
        self.directory = directory
        os.makedirs(directory, mode=0o700, exist_ok=True)

    def write(self, attempt_id: str, kind: str, payload: bytes) -> None:
        """Write one record; raises OSError, then nothing of it is left."""
        final = f"{self.directory}/{attempt_id}.{kind}"
        draft = f"{final}~"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                written = os.write(descriptor, payload)
                while written < len(payload):
                    written += os.write(descriptor, payload[written:])
            finally:
                os.close(descriptor)
            os.rename(draft, final)
        except OSError:
            _unlink(draft)
            raise

    def exists(self, attempt_id: str) -> bool:
        """Tell whether anybody has claimed this attempt on disk."""
        return os.access(f"{self.directory}/{attempt_id}.{INTENT}", os.F_OK)

    def remove(self, attempt_id: str) -> None:
        """Remove an attempt's files; the intent last, so that a half-removed attempt still looks claimed."""
        for kind in (IDENTITY, RESULT, INTENT):
            _unlink(f"{self.directory}/{attempt_id}.{kind}")

    def scan(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return {id: {kind: record}} of all readable records; drafts of the dead are left alone."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for name in os.listdir(self.directory):
            attempt_id, _, kind = name.rpartition(".")
            if kind not in _KINDS:
                continue
            record = self._load(name)
            if record is not None:
                found.setdefault(attempt_id, {})[kind] = record
        return found

    def unfinished_of_run(self, run_id: int) -> list[str]:
        """Return the ids of a run's attempts that have an intent and no result."""
        prefix, names = f"{run_id}-", set(os.listdir(self.directory))
        ids = [name.rpartition(".")[0] for name in names if name.startswith(prefix) and name.endswith(f".{INTENT}")]
        return [attempt_id for attempt_id in ids if f"{attempt_id}.{RESULT}" not in names]

    def _load(self, name: str) -> dict[str, Any] | None:
        try:
            with open(f"{self.directory}/{name}", "rb") as file:
                record = json.loads(file.read())
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
