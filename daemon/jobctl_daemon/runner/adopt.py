"""Takes over what a dead runner has left in the records: living commands, and results nobody has read."""

from __future__ import annotations

import fcntl
import os
import time

from .attempt import Attempt
from .clock import boot_s, wall_ms
from .identity import Stat
from .lock import is_held
from .output import Output
from .processes import environment, everything, watch
from .records import IDENTITY, INTENT, RESULT
from .supervisor import Supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_GRACE_MS = 10_000
_PATIENCE_S = 5.0
_NAP_S = 0.01


class Busy(OSError):
    """Another runner is looking for what the dead left, and does not come to an end."""


def adopt_at_start(supervisor: Supervisor, directory: str) -> None:
    """Take over what is there, before anybody is answered: records of a dead runner of our name are found by us alone.

    Raises Busy when another runner does not let us look. It is stopped, then; else a look takes milliseconds.
    """
    deadline = boot_s() + _PATIENCE_S
    while adopt(supervisor, directory) is None:
        if boot_s() > deadline:
            raise Busy("another runner, which may be stopped, is looking for what dead ones left")
        time.sleep(_NAP_S)


def adopt(supervisor: Supervisor, directory: str) -> int | None:
    """Take over all attempts no living runner holds; return how many. Two runners never take the same.

    None: another runner is at it. It is not waited for: one that is stopped just then would stop all others.
    """
    claim = os.open(f"{supervisor.records.directory}/.adopt", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _adopt_all(supervisor, directory)
    except BlockingIOError:
        return None
    finally:
        os.close(claim)


def _adopt_all(supervisor: Supervisor, directory: str) -> int:
    processes: list[tuple[Stat, bytes]] | None = None
    held: dict[str, bool] = {supervisor.instance: False}
    count = 0
    for attempt_id, records in supervisor.records.scan().items():
        if attempt_id in supervisor.attempts.known:
            continue
        told = records.get(IDENTITY) or records.get(INTENT) or records.get(RESULT) or {}
        holder = str(told.get("instance"))
        if holder not in held:
            held[holder] = is_held(f"{directory}/{os.path.basename(holder)}.lock")
            if not held[holder]:
                supervisor.bury(holder)
        if held[holder]:
            continue
        if not (records.get(RESULT) or records.get(IDENTITY)) and processes is None:
            processes = [(process, environment(process.pid)) for process in everything()]
        try:
            _take(supervisor, attempt_id, records, processes or [])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            supervisor.complain(f"{attempt_id}: record not understood: {error!r}")
            _take_unreadable(supervisor, attempt_id)
        count += 1
    supervisor.leftovers.tidy()
    return count


def _take(
    supervisor: Supervisor,
    attempt_id: str,
    records: dict[str, dict[str, Any]],
    processes: list[tuple[Stat, bytes]],
) -> None:
    finished = records.get(RESULT)
    attempt = _attempt(attempt_id, records.get(IDENTITY) or records.get(INTENT) or {})
    if finished and finished["id"] == attempt_id:
        supervisor.attempts.settle(attempt, finished, "ended")
        return
    identity = records.get(IDENTITY)
    if not identity:
        _take_unidentified(supervisor, attempt, records[INTENT], processes)
        return
    attempt.pid, attempt.pid_start = identity["pid"], identity["pid_start"]
    attempt.started_at, attempt.started_boot = identity["started_at"], identity["started_boot"]
    if identity["boot_id"] != supervisor.boot_id:
        attempt.started_boot = None
        supervisor.ends.lose(attempt, "the machine was started anew")
        return
    _follow(supervisor, attempt, identity, "its runner died, and it ended unseen")


def _take_unidentified(
    supervisor: Supervisor, attempt: Attempt, intent: dict[str, Any], processes: list[tuple[Stat, bytes]]
) -> None:
    """Take over an attempt whose runner died between the intent and the identity: the command may be there."""
    matches = attempt.marked
    found = [process for process, env in processes if matches(env)]
    if intent.get("boot_id") != supervisor.boot_id or not found:
        supervisor.ends.lose(attempt, "runner died while starting")
        return
    # The command leads its session; failing that the oldest is nearest to it.
    leader = min(found, key=lambda process: (process.session != process.pid, process.start))
    attempt.pid, attempt.pid_start = leader.pid, leader.start
    attempt.started_at = intent["written_at"]
    attempt.started_boot = leader.start / os.sysconf("SC_CLK_TCK")
    _follow(supervisor, attempt, intent, "runner died while starting")


def _take_unreadable(supervisor: Supervisor, attempt_id: str) -> None:
    """Take over an attempt of which only the name is known. It was started, or was about to be: never again as new."""
    run_id, fence = (int(part) for part in attempt_id.split("-"))
    tokens = b"\0JOBCTL_RUN_ID=%d\0" % run_id, b"\0JOBCTL_FENCE=%d\0" % fence
    carriers = [(process, environment(process.pid)) for process in everything()]
    carriers = [(process, env) for process, env in carriers if all(token in env for token in tokens)]
    key = _value(carriers[0][1], b"JOBCTL_RUN_KEY") if carriers else b""
    attempt = Attempt(key, run_id, fence, Output(b"/dev/null", 1 << 62), None, _GRACE_MS)
    attempt.remarks.append("its record cannot be read")
    if not carriers:
        supervisor.ends.lose(attempt, "the outcome is unknown")
        return
    intent = {"boot_id": supervisor.boot_id, "written_at": wall_ms()}
    _take_unidentified(supervisor, attempt, intent, carriers)


def _value(env: bytes, name: bytes) -> bytes:
    return env.partition(b"\0" + name + b"=")[2].partition(b"\0")[0]


def _follow(supervisor: Supervisor, attempt: Attempt, record: dict[str, Any], why_lost: str) -> None:
    assert attempt.pid is not None
    attempt.cgroup = record.get("cgroup")
    pidfd = watch(attempt.pid, attempt.pid_start)
    if pidfd is None:
        supervisor.ends.lose(attempt, why_lost)
        return
    # From now on the record names us, so that nobody else adopts it.
    supervisor.attempts.note_identity(attempt, attempt.intent(supervisor.instance, supervisor.boot_id))
    supervisor.watch.adopt(attempt, pidfd)


def _attempt(attempt_id: str, record: dict[str, Any]) -> Attempt:
    run_id, fence = (int(part) for part in attempt_id.split("-"))
    log = str(record["log"]).encode("utf-8", "surrogateescape")
    output = Output(log, int(record["log_max"]))
    key = str(record["key"]).encode("utf-8", "surrogateescape")
    return Attempt(key, run_id, fence, output, record.get("timeout_ms"), int(record["grace_ms"]))
