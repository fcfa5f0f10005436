"""The life of all attempts, composed: who they are, how they start, what watches them, how they end."""

from __future__ import annotations

from .attempt import INTERRUPTED
from .attempts import Attempts
from .cgroup import Cgroups
from .ends import Ends
from .groups import Groups
from .leftovers import Leftovers
from .log_looks import LogLooks
from .loop import Loop
from .records import Records
from .starts import Starts
from .watch import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# The unit is stopped in 90 s.
_LONGEST_PARTING_MS = 60_000


class Supervisor:
    """What a runner does with attempts; the parts answer for themselves, what concerns several is here."""

    def __init__(
        self,
        loop: Loop,
        records: Records,
        cgroups: Cgroups | None,
        report: Callable[[str, bytes], None],
        complain: Callable[[str], None],
        *,
        instance: str,
        boot_id: str,
    ) -> None:
        self.instance = instance
        self.boot_id = boot_id
        self.records = records
        self.complain = complain
        self.attempts = Attempts(loop, records, report, complain, instance=instance, boot_id=boot_id)
        self.groups = Groups(cgroups, complain)
        self.leftovers = Leftovers(records, boot_id)
        self.ends = Ends(loop, self.attempts, self.groups, self.leftovers)
        looks = LogLooks(loop, self.attempts, self.groups, self.leftovers, self.ends)
        self.watch = Watch(loop, self.attempts, self.ends, looks)
        self.starts = Starts(loop, self.attempts, self.groups, self.leftovers, self.ends, self.watch)

    def interrupt(self, most_ms: int | None = None) -> None:
        """End all commands, each with its grace: the machine goes down. What was not started yet is given back."""
        self.starts.give_back()
        most_ms = _LONGEST_PARTING_MS if most_ms is None else most_ms
        for attempt in list(self.attempts.alive.values()):
            self.ends.kill(attempt, INTERRUPTED, "cancel", min(attempt.grace_ms, most_ms))

    def bury(self, instance: str) -> None:
        """Tidy up after a dead runner."""
        self.records.discard_spares(instance)
        self.groups.bury(instance)

    def close(self) -> None:
        """Remove what only a living runner needs."""
        self.groups.close()
        self.records.discard_spares(self.instance)
