"""How attempts start: accepted, queued, and made by the runner itself or by a child of its own."""

from __future__ import annotations

import errno
import os
import signal
from collections import deque

from . import surroundings
from .attempt import STARTING, Attempt, result
from .attempts import Attempts
from .clock import boot_s, wall_ms
from .ends import Ends
from .failure import SpawnError
from .groups import Groups
from .identity import start_time
from .leftovers import Leftovers
from .loop import Loop
from .order import Order
from .processes import carriers, marker, send
from .protocol import dumps
from .records import INTENT
from .spawn import beget, spawn
from .tree import Tree
from .watch import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .birth import Birth

# Each blocks until its exec; exits, timeouts and messages are looked at between any two lots.
_STARTS_A_TURN = 4
# jobd kills a child that has not become its command by then; seen from here it may be a little less.
_SPAWN_S = 29.0


class Refused(Exception):
    """A start that must not be made here and now."""


class Starts:
    """Starts what was ordered, a few a turn."""

    def __init__(
        self, loop: Loop, attempts: Attempts, groups: Groups, leftovers: Leftovers, ends: Ends, watch: Watch
    ) -> None:
        self.draining = False
        self._loop = loop
        self._attempts = attempts
        self._records = attempts.records
        self._groups = groups
        self._leftovers = leftovers
        self._ends = ends
        self._watch = watch
        self._queue: deque[Attempt] = deque()
        loop.turns.append(self._start_some)

    def accept(self, order: Order) -> None:
        """Queue a start; raises Refused. The caller has seen that the id is not known."""
        if self.draining:
            raise Refused("draining")
        other = self._attempts.alive.get(order.run_id)
        if other is not None:
            raise Refused(f"attempt {other.id} of this run is alive")
        if self._records.exists(order.id):
            raise Refused("records of this attempt exist: rescan")
        if order.attempt > 1 or order.returned:
            self._clear_run(order.key, order.run_id)
        attempt = Attempt.of_order(order)
        self._attempts.add(attempt)
        self._queue.append(attempt)

    def _clear_run(self, key: bytes, run_id: int) -> None:
        """Kill what earlier attempts of a run left behind; raises Refused while one is alive under another runner."""
        unfinished = [one for one in self._records.unfinished_of_run(run_id) if one not in self._attempts.known]
        if unfinished:
            raise Refused(f"attempt {unfinished[0]} of this run has not ended: rescan")
        self._leftovers.kill(run_id)
        for process in carriers(marker(key, run_id)):
            send(process.pid, process.start, signal.SIGKILL)

    def give_back(self) -> None:
        """Start nothing of what waits: the machine goes down."""
        while self._queue:
            attempt = self._queue.popleft()
            if attempt.state == STARTING:
                self._fail(attempt, SpawnError(errno.EAGAIN, "the machine goes down"))

    def _start_some(self) -> bool:
        """Start a few of the queue; tell whether some are left."""
        for _ in range(min(_STARTS_A_TURN, len(self._queue))):
            attempt = self._queue.popleft()
            # One that was killed while it waited has ended already.
            if attempt.state == STARTING:
                self._start(attempt)
        return bool(self._queue)

    def _start(self, attempt: Attempt) -> None:
        order, attempt.order = attempt.order, None
        assert order is not None
        self._groups.take(attempt)
        intent = attempt.intent(self._attempts.instance, self._attempts.boot_id)
        surroundings.make_room(len(self._attempts.alive))
        try:
            self._write_intent(attempt, intent)
            attempt.started_at, attempt.started_boot = wall_ms(), boot_s()
            if order.needs_child:
                self._beget(attempt, order, intent)
                return
            attempt.pid, attempt.remarks = self._spawn_inside(attempt, order)
            _refuse_unborn(attempt)
        except SpawnError as error:
            self._fail(attempt, error)
            return
        attempt.pid_start = start_time(attempt.pid)
        self._attempts.note_identity(attempt, intent)
        attempt.tree = Tree(attempt.marked, attempt.pid, attempt.cgroup)
        self._watch.child(attempt)

    def _write_intent(self, attempt: Attempt, intent: bytes) -> None:
        try:
            self._records.write(attempt.id, INTENT, intent)
        except OSError as error:
            raise SpawnError(error.errno or errno.EIO, f"record: {os.strerror(error.errno or errno.EIO)}") from None

    def _spawn_inside(self, attempt: Attempt, order: Order) -> tuple[int, list[str]]:
        """Start the command in its control group, from its very first instruction on."""
        if not self._groups.enter(attempt, 0):
            return spawn(order, attempt.output)
        try:
            return spawn(order, attempt.output)
        finally:
            self._groups.step_out(attempt)

    def _beget(self, attempt: Attempt, order: Order, intent: bytes) -> None:
        """Start by way of a child that goes its own way to its exec, while everybody else is served."""
        birth = attempt.birth = beget(order, attempt.output, self._loop)
        attempt.pid, attempt.pid_start = birth.pid, start_time(birth.pid)
        self._groups.enter(attempt, birth.pid)
        self._attempts.note_identity(attempt, intent)
        attempt.tree = Tree(attempt.marked, attempt.pid, attempt.cgroup)
        birth.go(lambda notes, error: self._born(attempt, birth, notes, error))
        self._attempts.report("starting", dumps({"id": attempt.id, "pid": attempt.pid}))

    def _born(self, attempt: Attempt, birth: Birth, notes: list[str], error: SpawnError | None) -> None:
        attempt.birth = None
        attempt.remarks += notes
        if error is None:
            self._watch.follow(attempt, birth.pidfd)
            if attempt.stop is not None and attempt.cause is not None:
                self._ends.kill(attempt, attempt.cause, *attempt.stop)
            return
        attempt.pid = attempt.pid_start = attempt.tree = None
        if not birth.dead:
            self._groups.release(attempt, empty=False)
        if attempt.cause is None:
            self._fail(attempt, error)
            return
        if not birth.dead:
            attempt.remarks.append(f"its process {birth.pid} sits in the kernel")
        self._ends.never_began(attempt)

    def _fail(self, attempt: Attempt, error: SpawnError) -> None:
        attempt.started_at = attempt.started_boot = None
        attempt.cause = "spawn_error"
        attempt.remarks = [error.detail]
        attempt.end()
        self._groups.release(attempt, empty=True)
        values = result(attempt, self._attempts.boot_id, errno=error.name, transient=error.transient)
        self._attempts.settle(attempt, values, "failed")


def _refuse_unborn(attempt: Attempt) -> None:
    """A child that was killed because its exec did not come back was never the command; raises SpawnError."""
    assert attempt.pid is not None
    assert attempt.started_boot is not None
    if boot_s() - attempt.started_boot < _SPAWN_S:
        return
    found = os.waitid(os.P_PID, attempt.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is not None and found.si_code == os.CLD_KILLED and found.si_status == signal.SIGKILL:
        os.waitpid(attempt.pid, 0)
        attempt.pid = None
        raise SpawnError(errno.ETIMEDOUT, "spawn_timeout: its exec did not come back within half a minute")
