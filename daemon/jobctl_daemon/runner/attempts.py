"""All attempts, from the order until jobd has acknowledged the result, which is on disk before it is told."""

from __future__ import annotations

from .attempt import ENDED, RUNNING, Attempt
from .loop import Loop, Timer
from .protocol import dumps
from .records import IDENTITY, RESULT, Records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WRITE_AGAIN_S = 5.0


class Attempts:
    """Holds them, settles them and forgets them.

    report(kind, payload) hears of everything that happens, as JSON.
    """

    def __init__(
        self,
        loop: Loop,
        records: Records,
        report: Callable[[str, bytes], None],
        complain: Callable[[str], None],
        *,
        instance: str,
        boot_id: str,
    ) -> None:
        self.known: dict[str, Attempt] = {}
        #: By run: those that have not ended, those still to be started included.
        self.alive: dict[int, Attempt] = {}
        self.running: dict[str, Attempt] = {}
        self.instance = instance
        self.boot_id = boot_id
        self.records = records
        self.report = report
        self.complain = complain
        self._loop = loop
        self._write_again: Timer | None = None

    @property
    def all_on_disk(self) -> bool:
        """Tell whether every unread result would outlive this process."""
        return all(attempt.on_disk for attempt in self.known.values())

    def summaries(self) -> bytes:
        """Return all attempts, living or not acknowledged, as a JSON list."""
        return b"[" + b",".join(attempt.summary() for attempt in self.known.values()) + b"]"

    def add(self, attempt: Attempt) -> None:
        """Hold one that is to be started."""
        self.known[attempt.id] = self.alive[attempt.run_id] = attempt

    def note_identity(self, attempt: Attempt, intent: bytes) -> None:
        """Write which process an attempt is, and that it is ours."""
        self._write(attempt, IDENTITY, attempt.identity(intent))

    def note_running(self, attempt: Attempt) -> None:
        """Hold one that runs, whoever has started it."""
        attempt.state = RUNNING
        self.known[attempt.id] = self.running[attempt.id] = self.alive[attempt.run_id] = attempt

    def settle(self, attempt: Attempt, values: dict[str, Any], kind: str) -> None:
        """Keep and tell the result of one that has ended, or was never started."""
        attempt.state = ENDED
        self.running.pop(attempt.id, None)
        self.alive.pop(attempt.run_id, None)
        attempt.tree = attempt.ending = attempt.deadline = attempt.order = None
        values["instance"] = self.instance
        attempt.result = dumps(values)
        if not self._write(attempt, RESULT, attempt.result):
            values["detail"] = "; ".join(filter(None, (values["detail"], "the result is not on disk")))
            attempt.result = dumps(values)
        self.known[attempt.id] = attempt
        self.report(kind, attempt.result)

    def acknowledge(self, attempt_id: str) -> bool:
        """Forget an ended attempt and its files; a living one is not touched."""
        attempt = self.known.get(attempt_id)
        if attempt is not None and attempt.state != ENDED:
            return False
        self.known.pop(attempt_id, None)
        if attempt is not None:
            self.records.remove(attempt_id)
        return True

    def _write(self, attempt: Attempt, kind: str, payload: bytes) -> bool:
        try:
            self.records.write(attempt.id, kind, payload)
        except OSError as error:
            self.complain(f"{attempt.id}.{kind}: {error}")
            if kind == RESULT and self._write_again is None:
                self._write_again = self._loop.after(_WRITE_AGAIN_S, self._write_results_again)
            return False
        if kind == RESULT:
            attempt.on_disk = True
        return True

    def _write_results_again(self) -> None:
        self._write_again = None
        for attempt in list(self.known.values()):
            if attempt.result is not None and not attempt.on_disk and not self._write(attempt, RESULT, attempt.result):
                return
