"""One attempt: what was ordered, what lives, and what came of it."""

from __future__ import annotations

from .clock import boot_s, wall_ms
from .output import Output
from .processes import marker
from .protocol import dumps
from .tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .birth import Birth
    from .kill import Ending
    from .loop import Timer
    from .order import Order

STARTING, RUNNING, ENDED = "starting", "running", "ended"
#: A cause that is told as "lost" with a remark of its own: so every jobd of this protocol knows what to do.
INTERRUPTED = "interrupted"
_LEFT_BEHIND_LISTED = 20


class Attempt:
    """The runner's knowledge of one attempt. Times: *_at in ms UTC, *_boot in seconds since boot."""

    __slots__ = (
        "adopted", "birth", "cause", "cgroup", "deadline", "ended_at", "ended_boot", "ending", "fence", "grace_ms",
        "group_oom", "id", "key", "on_disk", "oom_base", "order", "output", "pid", "pid_start", "pidfd", "remarks",
        "result", "run_id", "started_at", "started_boot", "state", "stop", "timeout_ms", "tree",
    )  # fmt: skip

    def __init__(
        self, key: bytes, run_id: int, fence: int, output: Output, timeout_ms: int | None, grace_ms: int
    ) -> None:
        self.id = f"{run_id}-{fence}"
        self.key = key
        self.run_id = run_id
        self.fence = fence
        self.output = output
        self.timeout_ms = timeout_ms
        self.grace_ms = grace_ms
        self.state = STARTING
        self.order: Order | None = None
        self.birth: Birth | None = None
        self.stop: tuple[str, int | None] | None = None
        self.pid: int | None = None
        self.pid_start: int | None = None
        self.pidfd: int | None = None
        self.started_at: int | None = None
        self.started_boot: float | None = None
        self.ended_at: int | None = None
        self.ended_boot: float | None = None
        self.cgroup: str | None = None
        self.tree: Tree | None = None
        self.adopted = False
        self.deadline: Timer | None = None
        self.ending: Ending | None = None
        self.cause: str | None = None
        self.remarks: list[str] = []
        self.result: bytes | None = None
        self.on_disk = False
        self.oom_base = self.group_oom = 0

    @classmethod
    def of_order(cls, order: Order) -> Attempt:
        """Make the attempt that an order asks for."""
        output = Output(order.log, order.log_max)
        attempt = cls(order.key, order.run_id, order.fence, output, order.timeout_ms, order.grace_ms)
        attempt.order = order
        return attempt

    @property
    def marked(self) -> Callable[[bytes], bool]:
        """Return the test for the environments of this attempt's processes."""
        return marker(self.key, self.run_id, self.fence)

    @property
    def overdue_at(self) -> float | None:
        """Return when the timeout is over, in seconds since boot."""
        if self.timeout_ms is None or self.started_boot is None:
            return None
        return self.started_boot + self.timeout_ms / 1000

    @property
    def told_cause(self) -> str | None:
        """Return the cause in the words of the protocol."""
        return "lost" if self.cause == INTERRUPTED else self.cause

    @property
    def ends_boot_ms(self) -> int | None:
        """Return when both timeout and grace are over, in ms since boot: then nothing of it should be left."""
        overdue_at = self.overdue_at
        return None if overdue_at is None else round(overdue_at * 1000) + self.grace_ms

    def intent(self, instance: str, boot_id: str) -> bytes:
        """Return the record that says: this will be started. No argv, no environment: they may hold secrets."""
        return dumps({
            "id": self.id,
            "run_id": self.run_id,
            "fence": self.fence,
            "key": self.key.decode("utf-8", "surrogateescape"),
            "instance": instance,
            "boot_id": boot_id,
            "written_at": wall_ms(),
            "log": self.output.path.decode("utf-8", "surrogateescape"),
            "log_max": self.output.most,
            "timeout_ms": self.timeout_ms,
            "grace_ms": self.grace_ms,
            "cgroup": self.cgroup,
        })  # fmt: skip

    def identity(self, intent: bytes) -> bytes:
        """Return the record that says which process it is: the intent, as JSON, and more."""
        more = {
            "pid": self.pid,
            "pid_start": self.pid_start,
            "started_at": self.started_at,
            "started_boot": self.started_boot,
        }
        return intent[:-1] + b"," + dumps(more)[1:]

    def end(self) -> None:
        """Note the instant of the end, once."""
        if self.ended_at is None:
            self.ended_at, self.ended_boot = wall_ms(), boot_s()

    def summary(self) -> bytes:
        """Return the attempt as it stands, as JSON for a list."""
        head = dumps({
            "id": self.id,
            "run_id": self.run_id,
            "fence": self.fence,
            "state": self.state,
            "pid": self.pid,
            "pid_start": self.pid_start,
            "started_at": self.started_at,
            "ends_boot_ms": self.ends_boot_ms,
            "adopted": self.adopted,
            "cause": self.told_cause,
            "log_size": self.output.size(),
        })  # fmt: skip
        return head[:-1] + b',"result":' + (self.result or b"null") + b"}"


def result(
    attempt: Attempt,
    boot_id: str,
    *,
    exit_code: int | None = None,
    signal: int | None = None,
    errno: str | None = None,
    transient: bool = False,
    cpu_ms: int | None = None,
    max_rss_kb: int | None = None,
    oom: bool = False,
    log_size: int = 0,
    left_behind: list[int] | None = None,
) -> dict[str, Any]:
    """Return what jobd is told of an ended attempt."""
    duration = None
    if attempt.started_boot is not None and attempt.ended_boot is not None:
        duration = max(0, round((attempt.ended_boot - attempt.started_boot) * 1000))
    return {
        "id": attempt.id,
        "run_id": attempt.run_id,
        "fence": attempt.fence,
        "pid": attempt.pid,
        "pid_start": attempt.pid_start,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "duration_ms": duration,
        "exit_code": exit_code,
        "signal": signal,
        "cause": attempt.told_cause,
        "interrupted": attempt.cause == INTERRUPTED,
        "errno": errno,
        "transient": transient,
        "detail": "; ".join(attempt.remarks) or None,
        "cpu_ms": cpu_ms,
        "max_rss_kb": max_rss_kb,
        "oom": oom,
        "log_size": log_size,
        "log_dropped_from": attempt.output.dropped_from,
        "log_dropped_to": attempt.output.dropped_to or None,
        "log_truncated": attempt.output.truncated,
        "signals": attempt.ending.signals if attempt.ending else [],
        "left_behind": (left_behind or [])[:_LEFT_BEHIND_LISTED],
        "boot_id": boot_id,
    }
