"""Messages on their way to the mail program: headers and the log of a run, in a private file for one start.

jobd writes the file before the start and removes it when the command runs, which then reads what it has open. So a log
of many megabytes goes neither through the database nor through a runner's socket, and only deliveries that run take
room on the disk.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

import structlog

from jobctl.model import Enclosed
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.execution.logs import LogFiles, LogReader
from jobctl_daemon.rows import Claim

#: Of more output the middle is left out: what mail transports take is 10 MB as a rule.
BODY_BYTES_MAX: Final = 10_000_000
_CHUNK: Final = 1 << 18
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class Outgoing:
    """The folder of messages. `write` is for a thread; the rest costs nothing that can be measured."""

    def __init__(self, directory: str, logs: LogFiles) -> None:
        self.directory = directory
        self._logs = logs
        self._ours: set[str] = set()

    def path(self, attempt: str) -> str:
        return os.path.join(self.directory, attempt)

    def write(self, claims: Iterable[Claim]) -> None:
        """The messages of these claims. One that cannot be written is not there, and harms no other."""
        for claim in claims:
            attempt = attempt_id(claim.run_id, claim.fence)
            self._ours.add(attempt)
            try:
                self._write(claim, self.path(attempt))
            except OSError as error:
                structlog.get_logger().warning("mail.unwritten", attempt=attempt, error=str(error))
                self._remove(attempt)

    def given(self, claim: Claim) -> dict[str, str] | None:
        """What its command reads, for a start message; None where it sends nothing. `OSError` when it is not there."""
        if claim.execution.sends is None or claim.probe:
            return None
        path = self.path(attempt_id(claim.run_id, claim.fence))
        os.stat(path, follow_symlinks=False)
        return {"own": path}

    def taken(self, attempts: Iterable[str]) -> None:
        """These run, or will not: their messages are not needed any more."""
        for attempt in self._ours.intersection(attempts):
            self._remove(attempt)

    def sweep(self, living: Iterable[str]) -> None:
        """What a daemon before this one has left, but for what runners are about to start."""
        there: set[str] = set()
        with suppress(FileNotFoundError):
            there.update(os.listdir(self.directory))
        self._ours |= there
        self.taken(there.difference(living))

    def _remove(self, attempt: str) -> None:
        self._ours.discard(attempt)
        with suppress(OSError):
            os.unlink(self.path(attempt))

    def _write(self, claim: Claim, path: str) -> None:
        assert claim.execution.sends is not None
        with suppress(FileExistsError):
            os.mkdir(self.directory, 0o700)
        with open(os.open(path, _FLAGS, 0o600), "wb") as file:
            file.write((claim.execution.stdin or "").encode("utf-8", "replace"))
            file.writelines(self._body(claim.execution.sends))

    def _body(self, enclosed: Enclosed) -> Iterator[bytes]:
        reader = self._logs.open(enclosed.run_id, enclosed.fence, enclosed.size) if enclosed.size else None
        if reader is not None:
            try:
                yield from _output(reader)
            finally:
                reader.close()
        elif enclosed.size:
            yield _said(f"its output of {enclosed.size} bytes was removed before this mail could be sent")
        if enclosed.note is not None:
            yield _said(enclosed.note) if enclosed.size else _said(enclosed.note).lstrip()


def _output(reader: LogReader) -> Iterator[bytes]:
    """The log with a line in place of what is missing; of one that is too long for a mail, both ends."""
    size = reader.size()
    gap = reader.dropped()
    kept = size - (gap.end - gap.start if gap else 0)
    if kept <= BODY_BYTES_MAX:
        yield from _stretch(reader, 0, size)
        return
    half = BODY_BYTES_MAX // 2
    yield from _stretch(reader, 0, half)
    yield _said(f"{size - 2 * half} bytes are left out here, a mail has {BODY_BYTES_MAX} at the most: jobctl log")
    yield from _stretch(reader, size - half, size)


def _stretch(reader: LogReader, start: int, end: int) -> Iterator[bytes]:
    offset = start
    while offset < end:
        chunk = reader.read(offset, min(_CHUNK, end - offset))
        if chunk.dropped is not None:
            yield chunk.dropped.marker
        if not chunk.data:
            return
        yield chunk.data[: max(0, end - chunk.offset)]
        offset = chunk.end


def _said(words: str) -> bytes:
    """A line of ours in the mail."""
    return f"\n[jobctl: {words}]\n".encode()
