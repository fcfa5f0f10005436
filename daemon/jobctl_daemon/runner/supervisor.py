"""The life of all attempts: start, watch, time out, end, report."""

from __future__ import annotations

import errno
import os
import signal
from collections import deque

from . import cgroup, surroundings
from .attempt import ENDED, INTERRUPTED, RUNNING, STARTING, Attempt, result
from .birth import SPAWN_S
from .cgroup import Cgroups
from .clock import boot_s, wall_ms
from .failure import SpawnError
from .identity import is_unborn, start_time
from .kill import Ending
from .leftovers import Leftovers
from .loop import READ, Loop, Timer
from .oom import OomCounter, in_group
from .order import Order
from .processes import carriers, marker, send
from .protocol import dumps
from .records import IDENTITY, INTENT, RESULT, Records
from .spawn import beget, spawn
from .tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .birth import Birth

# Each blocks until its exec; exits, timeouts and messages are looked at between any two lots.
_STARTS_A_TURN = 4
_FIRST_LOOK_S, _LOOK_S, _LONGEST_LOOK_S = 0.01, 0.1, 0.25
_WRITE_AGAIN_S = 5.0
# jobd kills a child that has not become its command by then; seen from here it may be a little less.
_SPAWN_S = 29.0
# The unit is stopped in 90 s.
_LONGEST_PARTING_MS = 60_000


class Refused(Exception):
    """A start that must not be made here and now."""


class Supervisor:
    """Holds every attempt from its order until jobd has acknowledged its result.

    report(kind, payload) hears of everything that happens, as JSON.
    """

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
        self.attempts: dict[str, Attempt] = {}
        self.draining = False
        self.instance = instance
        self.boot_id = boot_id
        self.records = records
        self._loop = loop
        self._cgroups = cgroups
        self._report = report
        self.complain = complain
        self._queue: deque[Attempt] = deque()
        self._alive: dict[int, Attempt] = {}
        self._running: dict[str, Attempt] = {}
        self._oom = OomCounter()
        self._leftovers = Leftovers(records, boot_id)
        self._look: Timer | None = None
        self._look_s = _LOOK_S
        self._write_again: Timer | None = None
        loop.turns.append(self._start_some)

    # Questions

    @property
    def kill_by(self) -> str:
        """Say how this host's trees are killed."""
        return "cgroup" if self._cgroups else "process group, session and environment marker"

    @property
    def living(self) -> int:
        """Return how many attempts have not ended, those still to be started included."""
        return len(self._alive)

    @property
    def all_on_disk(self) -> bool:
        """Tell whether every unread result would outlive this process."""
        return all(attempt.on_disk for attempt in self.attempts.values())

    def summaries(self) -> bytes:
        """Return all attempts, living or not acknowledged, as a JSON list."""
        return b"[" + b",".join(attempt.summary() for attempt in self.attempts.values()) + b"]"

    # Starting

    def accept(self, order: Order) -> None:
        """Queue a start; raises Refused. The caller has seen that the id is not known."""
        if self.draining:
            raise Refused("draining")
        other = self._alive.get(order.run_id)
        if other is not None:
            raise Refused(f"attempt {other.id} of this run is alive")
        if self.records.exists(order.id):
            raise Refused("records of this attempt exist: rescan")
        if order.attempt > 1 or order.returned:
            self._clear_run(order.key, order.run_id)
        attempt = Attempt.of_order(order)
        self.attempts[attempt.id] = self._alive[attempt.run_id] = attempt
        self._queue.append(attempt)

    def _clear_run(self, key: bytes, run_id: int) -> None:
        """Kill what earlier attempts of a run left behind; raises Refused while one is alive under another runner."""
        unfinished = [one for one in self.records.unfinished_of_run(run_id) if one not in self.attempts]
        if unfinished:
            raise Refused(f"attempt {unfinished[0]} of this run has not ended: rescan")
        self._leftovers.kill(run_id)
        for process in carriers(marker(key, run_id)):
            send(process.pid, process.start, signal.SIGKILL)

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
        attempt.cgroup = self._cgroups.take() if self._cgroups else None
        attempt.oom_base = self._oom.sample()
        intent = attempt.intent(self.instance, self.boot_id)
        surroundings.make_room(len(self._alive))
        try:
            self._write_intent(attempt, intent)
            attempt.started_at, attempt.started_boot = wall_ms(), boot_s()
            if order.needs_child:
                self._beget(attempt, order, intent)
                return
            attempt.pid, attempt.remarks = self._spawn_inside(attempt, order)
            self._refuse_unborn(attempt)
        except SpawnError as error:
            self._fail(attempt, error)
            return
        attempt.pid_start = start_time(attempt.pid)
        self.note_identity(attempt, intent)
        attempt.tree = Tree(attempt.marked, attempt.pid, attempt.cgroup)
        self._watch_child(attempt)

    def _beget(self, attempt: Attempt, order: Order, intent: bytes) -> None:
        """Start by way of a child that goes its own way to its exec, while everybody else is served."""
        birth = attempt.birth = beget(order, attempt.output, self._loop)
        attempt.pid, attempt.pid_start = birth.pid, start_time(birth.pid)
        if attempt.cgroup is not None and not cgroup.enter(attempt.cgroup, birth.pid):
            self._release(attempt, empty=False)
        if attempt.cgroup is not None and self._cgroups is not None and self._cgroups.counts_oom:
            attempt.group_oom = in_group(attempt.cgroup)
        self.note_identity(attempt, intent)
        attempt.tree = Tree(attempt.marked, attempt.pid, attempt.cgroup)
        birth.go(lambda notes, error: self._born(attempt, birth, notes, error))
        self._report("starting", dumps({"id": attempt.id, "pid": attempt.pid}))

    def _born(self, attempt: Attempt, birth: Birth, notes: list[str], error: SpawnError | None) -> None:
        attempt.birth = None
        attempt.remarks += notes
        if error is None:
            self.follow(attempt, birth.pidfd)
            if attempt.stop is not None and attempt.cause is not None:
                self.kill(attempt, attempt.cause, *attempt.stop)
            return
        attempt.pid = attempt.pid_start = attempt.tree = None
        if not birth.dead:
            self._release(attempt, empty=False)
        if attempt.cause is None:
            self._fail(attempt, error)
            return
        if not birth.dead:
            attempt.remarks.append(f"its process {birth.pid} sits in the kernel")
        self._never_began(attempt)

    def _refuse_unborn(self, attempt: Attempt) -> None:
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

    def _write_intent(self, attempt: Attempt, intent: bytes) -> None:
        try:
            self.records.write(attempt.id, INTENT, intent)
        except OSError as error:
            raise SpawnError(error.errno or errno.EIO, f"record: {os.strerror(error.errno or errno.EIO)}") from None

    def _spawn_inside(self, attempt: Attempt, order: Order) -> tuple[int, list[str]]:
        """Start the command in its control group, from its very first instruction on."""
        if attempt.cgroup is None or self._cgroups is None:
            return spawn(order, attempt.output)
        if self._cgroups.counts_oom:
            attempt.group_oom = in_group(attempt.cgroup)
        if not self._cgroups.step_into(attempt.cgroup):
            self._release(attempt, empty=False)
            return spawn(order, attempt.output)
        try:
            return spawn(order, attempt.output)
        finally:
            if not self._cgroups.step_out():
                self.complain(f"{attempt.id}: the runner cannot leave {attempt.cgroup}: its tree goes by the marker")
                attempt.cgroup = None

    def _watch_child(self, attempt: Attempt) -> None:
        assert attempt.pid is not None
        try:
            pidfd = os.pidfd_open(attempt.pid)
        except OSError as error:
            self.complain(f"{attempt.id}: pidfd: {error}")
            self._loop.after(0.1, lambda: self._watch_child_again(attempt))
            return
        self.follow(attempt, pidfd)

    def _watch_child_again(self, attempt: Attempt) -> None:
        if attempt.state != ENDED:
            self._watch_child(attempt)

    def follow(self, attempt: Attempt, pidfd: int) -> None:
        """Wait for the end of a process that runs, and hold it to its timeout."""
        attempt.pidfd = pidfd
        attempt.state = RUNNING
        self.attempts[attempt.id] = self._running[attempt.id] = self._alive[attempt.run_id] = attempt
        self._loop.add(pidfd, READ, lambda _: self._leader_ended(attempt))
        if (overdue_at := attempt.overdue_at) is not None:
            attempt.deadline = self._loop.at(overdue_at, lambda: self._overdue(attempt))
        self._look_soon()
        # One that has much to say begins at once.
        self._loop.after(_FIRST_LOOK_S, lambda: self._look_in_haste(attempt))
        self._report("started", dumps({
            "id": attempt.id,
            "pid": attempt.pid,
            "pid_start": attempt.pid_start,
            "started_at": attempt.started_at,
            "ends_boot_ms": attempt.ends_boot_ms,
        }))  # fmt: skip

    def _fail(self, attempt: Attempt, error: SpawnError) -> None:
        attempt.started_at = attempt.started_boot = None
        attempt.cause = "spawn_error"
        attempt.remarks = [error.detail]
        attempt.end()
        self._release(attempt, empty=True)
        values = result(attempt, self.boot_id, errno=error.name, transient=error.transient)
        self._settle(attempt, values, "failed")

    # Ending

    def kill(self, attempt: Attempt, cause: str, mode: str, grace_ms: int | None = None) -> None:
        """End an attempt: mode cancel asks first, mode kill does not. The first cause is the one recorded."""
        if attempt.state == ENDED:
            return
        if attempt.state == STARTING and attempt.pid is None:
            self._drop_queued(attempt, cause)
            return
        attempt.cause = attempt.cause or cause
        if attempt.birth is not None:
            attempt.stop = mode, grace_ms
            attempt.birth.stop()
            return
        if attempt.ending is None:
            assert attempt.tree is not None
            attempt.ending = Ending(self._loop, attempt.tree, lambda left: self._tree_ended(attempt, left))
        if mode == "kill":
            attempt.ending.force()
        else:
            attempt.ending.ask(attempt.grace_ms if grace_ms is None else grace_ms)

    def _drop_queued(self, attempt: Attempt, cause: str) -> None:
        attempt.cause = cause
        self._never_began(attempt)

    def _never_began(self, attempt: Attempt) -> None:
        """Record the end of what was stopped before its command was there."""
        attempt.started_at = attempt.started_boot = None
        attempt.remarks.append("was not started")
        attempt.end()
        self._release(attempt, empty=True)
        self._settle(attempt, result(attempt, self.boot_id), "ended")

    def interrupt(self, most_ms: int | None = None) -> None:
        """End all commands, each with its grace: the machine goes down. What was not started yet is given back."""
        while self._queue:
            attempt = self._queue.popleft()
            if attempt.state == STARTING:
                self._fail(attempt, SpawnError(errno.EAGAIN, "the machine goes down"))
        most_ms = _LONGEST_PARTING_MS if most_ms is None else most_ms
        for attempt in list(self._alive.values()):
            self.kill(attempt, INTERRUPTED, "cancel", min(attempt.grace_ms, most_ms))

    def _overdue(self, attempt: Attempt) -> None:
        if attempt.state == RUNNING and attempt.ended_at is None and not self._ended_unseen(attempt):
            self.kill(attempt, "timed_out", "cancel")

    def _ended_unseen(self, attempt: Attempt) -> bool:
        # An exit that is there to be seen was before the deadline was looked at.
        if attempt.adopted or attempt.pid is None:
            return False
        try:
            return os.waitid(os.P_PID, attempt.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except OSError:
            return False

    def _leader_ended(self, attempt: Attempt) -> None:
        attempt.end()
        assert attempt.pidfd is not None
        self._loop.remove(attempt.pidfd)
        os.close(attempt.pidfd)
        attempt.pidfd = None
        if attempt.adopted and attempt.tree is not None:
            attempt.tree.leader = None
        if attempt.ending is not None:
            # Not reaped before the tree is gone: until then nobody else can get its number, session and group.
            attempt.ending.leader_died()
        else:
            self._finish(attempt, [])

    def _tree_ended(self, attempt: Attempt, survivors: list[int]) -> None:
        if survivors:
            attempt.remarks.append(f"{len(survivors)} processes survive KILL")
        self._finish(attempt, survivors)

    def _finish(self, attempt: Attempt, survivors: list[int]) -> None:
        if attempt.deadline is not None:
            attempt.deadline.cancel()
        status = self._reap(attempt)
        left = survivors or self._left_behind(attempt)
        if attempt.adopted and attempt.cause is None:
            attempt.cause = "lost"
            attempt.remarks.append("its runner died; the outcome is unknown")
        log_size = self._finish_output(attempt, alone=not left)
        self._remark_on_log(attempt)
        if left:
            self._leftovers.add(attempt, left)
        oom = self._died_of_memory(attempt, status)
        self._release(attempt, empty=not left)
        self._settle(
            attempt, result(attempt, self.boot_id, oom=oom, log_size=log_size, left_behind=left, **status), "ended"
        )

    def _reap(self, attempt: Attempt) -> dict[str, Any]:
        if attempt.adopted or attempt.pid is None:
            return {}
        try:
            _, status, usage = os.wait4(attempt.pid, 0)
        except ChildProcessError:
            attempt.cause = attempt.cause or "lost"
            attempt.remarks.append("its exit status was taken by somebody else")
            return {}
        code = os.waitstatus_to_exitcode(status)
        return {
            "exit_code": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "cpu_ms": round((usage.ru_utime + usage.ru_stime) * 1000),
            "max_rss_kb": usage.ru_maxrss,
        }

    def _left_behind(self, attempt: Attempt) -> list[int]:
        """Return what a leader that ended by itself has left running. Cheap when, as mostly, there is nothing."""
        grouped = attempt.cgroup is not None and cgroup.pids(attempt.cgroup) not in ([], [attempt.pid])
        if grouped or (attempt.pid is not None and _group_lives(attempt.pid)):
            return sorted(Tree(attempt.marked, None, attempt.cgroup).members())
        return []

    def _finish_output(self, attempt: Attempt, alone: bool) -> int:
        try:
            return attempt.output.finish(alone)
        except OSError as error:
            attempt.remarks.append(f"log is larger than its cap: {error.strerror}")
            return attempt.output.size()

    def _remark_on_log(self, attempt: Attempt) -> None:
        if attempt.output.removed:
            attempt.remarks.append("log_incomplete: its file was removed or replaced while it ran")
        if attempt.output.is_full():
            attempt.remarks.append("log_incomplete(ENOSPC): there was no room left for its output")

    def _died_of_memory(self, attempt: Attempt, status: dict[str, Any]) -> bool:
        if attempt.ending is not None or not _killed(status):
            return False
        group = attempt.cgroup if self._cgroups is not None and self._cgroups.counts_oom else None
        return self._oom.claims(attempt.oom_base, group, attempt.group_oom)

    def _release(self, attempt: Attempt, empty: bool) -> None:
        group, attempt.cgroup = attempt.cgroup, None
        if group is not None and self._cgroups is not None:
            self._cgroups.give_back(group, empty)
        elif group is not None:
            cgroup.remove(group)

    # Results

    def _settle(self, attempt: Attempt, values: dict[str, Any], kind: str) -> None:
        attempt.state = ENDED
        self._running.pop(attempt.id, None)
        self._alive.pop(attempt.run_id, None)
        attempt.tree = attempt.ending = attempt.deadline = attempt.order = None
        values["instance"] = self.instance
        attempt.result = dumps(values)
        if not self._write(attempt, RESULT, attempt.result):
            values["detail"] = "; ".join(filter(None, (values["detail"], "the result is not on disk")))
            attempt.result = dumps(values)
        self.attempts[attempt.id] = attempt
        self._report(kind, attempt.result)

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
        for attempt in list(self.attempts.values()):
            if attempt.result is not None and not attempt.on_disk and not self._write(attempt, RESULT, attempt.result):
                return

    def acknowledge(self, attempt_id: str) -> bool:
        """Forget an ended attempt and its files; a living one is not touched."""
        attempt = self.attempts.get(attempt_id)
        if attempt is not None and attempt.state != ENDED:
            return False
        self.attempts.pop(attempt_id, None)
        if attempt is not None:
            self.records.remove(attempt_id)
        return True

    # Adoption

    def note_identity(self, attempt: Attempt, intent: bytes) -> None:
        """Write which process an attempt is, and that it is ours."""
        self._write(attempt, IDENTITY, attempt.identity(intent))

    def adopt(self, attempt: Attempt, pidfd: int) -> None:
        """Take over a living process that another runner started."""
        attempt.adopted = True
        assert attempt.pid is not None
        attempt.tree = Tree(attempt.marked, attempt.pid, attempt.cgroup)
        attempt.output.recall()
        if is_unborn(attempt.pid):
            self._loop.after(SPAWN_S, lambda: self._end_unborn(attempt))
        self.follow(attempt, pidfd)

    def _end_unborn(self, attempt: Attempt) -> None:
        """End what a runner that died has left half started, and what does not come to its exec."""
        if attempt.state == RUNNING and attempt.pid is not None and is_unborn(attempt.pid):
            attempt.remarks.append("spawn_timeout: its exec did not come back within half a minute")
            self.kill(attempt, "lost", "kill")

    def lose(self, attempt: Attempt, why: str) -> None:
        """Record an attempt whose process is gone and whose outcome nobody saw."""
        attempt.adopted = True
        attempt.cause = "lost"
        attempt.remarks.append(why)
        attempt.output.recall()
        size = self._finish_output(attempt, alone=True)
        self._settle(attempt, result(attempt, self.boot_id, log_size=size), "ended")

    def restore(self, attempt: Attempt, values: dict[str, Any]) -> None:
        """Take over a result that nobody has read."""
        self._settle(attempt, values, "ended")

    # Logs

    def _look_soon(self) -> None:
        if self._look is not None and self._look_s > _LOOK_S:
            self._look.cancel()
            self._look = None
        if self._look is None:
            self._look_s = _LOOK_S
            self._look = self._loop.after(_LOOK_S, self._look_at_logs)

    def _look_at_logs(self) -> None:
        self._look = None
        grew = self._leftovers.look()
        for attempt in list(self._running.values()):
            grew = self._look_at(attempt) or grew
        self._oom.sample()
        if self._running or self._leftovers:
            self._look_s = _LOOK_S if grew else min(self._look_s * 2, _LONGEST_LOOK_S)
            self._look = self._loop.after(self._look_s, self._look_at_logs)
        elif self._cgroups is not None:
            self._cgroups.tidy()

    def _look_at(self, attempt: Attempt) -> bool:
        """Cap one log; when it grows fast, look at it alone again soon."""
        output = attempt.output
        try:
            grew = output.look(attempt.pid)
        except OSError as error:
            self._stop_writing(attempt, error)
            return True
        haste_s = None if output.hurries else output.haste_s(_LONGEST_LOOK_S)
        if haste_s is not None:
            output.hurries = True
            self._loop.after(haste_s, lambda: self._look_in_haste(attempt))
        return grew

    def _look_in_haste(self, attempt: Attempt) -> None:
        attempt.output.hurries = False
        if attempt.state == RUNNING:
            self._look_at(attempt)

    def _stop_writing(self, attempt: Attempt, error: OSError) -> None:
        if attempt.ending is None or not attempt.remarks:
            attempt.remarks.append(f"log cannot be kept below its cap: {error.strerror}")
        self.kill(attempt, "log_failed", "kill")

    def tidy(self) -> None:
        """Forget what dead runners noted of who is dead by now."""
        self._leftovers.tidy()

    def bury(self, instance: str) -> None:
        """Tidy up after a dead runner."""
        self.records.discard_spares(instance)
        if self._cgroups is not None:
            self._cgroups.bury(instance)

    def close(self) -> None:
        """Remove what only a living runner needs."""
        if self._cgroups is not None:
            self._cgroups.close()
        self.records.discard_spares(self.instance)


def _group_lives(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _killed(status: dict[str, Any]) -> bool:
    # 137 is how a shell tells that its last command was killed.
    return status.get("signal") == signal.SIGKILL or status.get("exit_code") == 128 + signal.SIGKILL
