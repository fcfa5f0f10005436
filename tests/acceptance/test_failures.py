"""Failures of real commands: retries, what is hopeless, what cannot start, what is lost, and what harms the daemon."""

import contextlib
import itertools
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobctl.reading.times import milliseconds
from kit.daemon import Json, RealDaemon, kill, real_daemon
from kit.gate import Gates
from kit.marks import Marks

#: What a busy machine may add to a delay.
SLACK_MS = 3_000
Full = Callable[[list[int]], contextlib.AbstractContextManager[None]]
NO_RETRY = {"retry": {"max": 0, "lost": 0}, "on_failure": "record"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """One for all tests; each has jobs of its own."""
    with real_daemon(tmp_path_factory.mktemp("failures") / "home") as made:
        yield made


@pytest.fixture
def daemon(shared: RealDaemon) -> RealDaemon:
    return shared.up()


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path / "marks")


def waits_ms(attempts: list[Json]) -> list[int]:
    """From the end of each attempt to the claim of the next."""
    return [
        milliseconds(after["claimed_at"]) - milliseconds(before["ended_at"])
        for before, after in itertools.pairwise(attempts)
    ]


# ── retries ──────────────────────────────────────────────


def test_what_fails_twice_and_then_works_has_three_attempts_under_one_key(daemon: RealDaemon, marks: Marks) -> None:
    command = f"{marks.line('start')}; echo try $JOBCTL_ATTEMPT; test $JOBCTL_ATTEMPT -ge 3"
    daemon.add("flaky", command, retry={"backoff": 0.3})
    run = daemon.finished(daemon.triggered("flaky"))
    attempts = daemon.client.attempts(run["id"])
    first_ms, second_ms = waits_ms(attempts)
    seen = marks.all()

    assert (run["state"], run["attempt"], run["max_attempts"]) == ("succeeded", 3, 4)
    assert [(attempt["class"], attempt["exit_code"]) for attempt in attempts] == [("exit_code", 1)] * 2 + [(None, 0)]
    assert 300 <= first_ms <= 360 + SLACK_MS
    assert 600 <= second_ms <= 720 + SLACK_MS
    assert {mark.key for mark in seen} == {run["key"]}
    assert [mark.attempt for mark in seen] == [1, 2, 3]
    assert [mark.fence for mark in seen] == [attempt["fence"] for attempt in attempts]
    assert attempts[0]["fence"] < attempts[1]["fence"] < attempts[2]["fence"]
    assert [daemon.client.log(run["id"], attempt=number).read() for number in (1, 2, 3)] == [
        b"try 1\n",
        b"try 2\n",
        b"try 3\n",
    ]


def test_delays_are_capped(daemon: RealDaemon) -> None:
    daemon.add("capped", "exit 1", retry={"max": 4, "backoff": 0.1, "backoff_max": 0.2}, on_failure="record")
    run = daemon.finished(daemon.triggered("capped"))
    waits = waits_ms(daemon.client.attempts(run["id"]))

    assert (run["state"], len(waits)) == ("failed", 4)
    assert max(waits) <= 200 + SLACK_MS
    assert min(waits) >= 100


def test_a_retry_that_waits_says_so_holds_no_slot_and_can_be_made_due(tmp_path: Path) -> None:
    alone = RealDaemon(tmp_path / "home").settings("slots = 1\n")
    try:
        daemon = alone.start()
        daemon.add("patient", "test $JOBCTL_ATTEMPT = 2", retry={"backoff": 3600})
        run = daemon.state(daemon.triggered("patient"), "ready", attempt=1)
        status = daemon.client.status()
        other = daemon.finished(daemon.run(["/bin/true"]))
        retried = daemon.client.retry_run(run["id"])
        ended = daemon.finished(run)
    finally:
        alone.close()

    assert (run["class"], run["reason"]) == ("exit_code", "exit 1")
    assert milliseconds(run["due_at"]) - milliseconds(status["now"]) > 2_800_000
    assert (status["slots"], status["running"], status["oldest_due_s"]) == (1, 0, None)
    assert other["state"] == "succeeded"
    assert retried["how"] == "now"
    assert (ended["state"], ended["attempt"], ended["key"]) == ("succeeded", 2, run["key"])


def test_a_timeout_is_retried_and_a_cancelled_retry_is_not(daemon: RealDaemon) -> None:
    daemon.add("slow", ["/usr/bin/tail", "-f", "/dev/null"], timeout=0.2, grace=1, retry={"max": 1, "backoff": 0.1})
    run = daemon.finished(daemon.triggered("slow"))
    assert (run["state"], run["class"], run["attempt"]) == ("dead", "timed_out", 2)

    daemon.add("stopped", "exit 1", retry={"backoff": 3600})
    waiting = daemon.state(daemon.triggered("stopped"), "ready", attempt=1)
    daemon.client.cancel_run(waiting["id"])
    assert daemon.finished(waiting)["state"] == "cancelled"


def test_what_an_attempt_left_running_is_gone_before_the_next_one(daemon: RealDaemon, tmp_path: Path) -> None:
    look = f"for pid in $(cat {tmp_path}/pids 2>/dev/null); do cut -d' ' -f3 /proc/$pid/stat 2>/dev/null; done"
    command = f"{look}; sleep 300 & echo $! >> {tmp_path}/pids; exit 1"
    daemon.add("untidy", command, retry={"max": 2, "backoff": 0.1})
    run = daemon.finished(daemon.triggered("untidy"))
    left = [attempt["left_behind"] for attempt in daemon.client.attempts(run["id"])]
    kill(left[-1][0])
    seen = b"".join(daemon.client.log(run["id"], attempt=number).read() for number in (1, 2, 3))

    assert [len(pids) for pids in left] == [1, 1, 1]
    assert set(seen.split()) <= {b"Z"}  # dead, and perhaps not yet buried by their new parent


@pytest.mark.long
@pytest.mark.case("F080")
def test_attempts_and_instants_outlive_every_restart(daemon: RealDaemon, marks: Marks) -> None:
    retry = {"max": 3, "backoff": 2, "backoff_max": 2}
    daemon.add("restarted", f"{marks.line('start')}; exit 1", retry=retry)
    run = daemon.triggered("restarted")
    up = [0]
    for end in (daemon.kill9, daemon.stop, daemon.kill9, daemon.stop, daemon.kill9):
        end()
        up.append(milliseconds(daemon.start().client.status()["started_at"]))
    ended = daemon.finished(run)
    told = [json.loads(message.data) for message in daemon.client.events(after=0, kind="run.retrying")]
    stored = [event["data"]["due_ms"] for event in told if event["run_id"] == run["id"]]
    claimed = [milliseconds(attempt["claimed_at"]) for attempt in daemon.client.attempts(run["id"])][1:]
    # Late is what a living daemon lets pass.
    late = [
        at_ms - max(due_ms, *(since for since in up if since <= at_ms))
        for due_ms, at_ms in zip(stored, claimed, strict=True)
    ]

    assert (ended["state"], ended["attempt"], ended["reason"]) == ("dead", 4, "exit 1; 4 attempts have failed")
    assert len(marks.all("start")) == 4
    assert all(at_ms >= due_ms for due_ms, at_ms in zip(stored, claimed, strict=True))
    assert max(late) <= 2_000


# ── hopeless ──────────────────────────────────────────────


@pytest.mark.parametrize("code", [64, 78, 126, 127])
def test_an_exit_that_says_so_is_dead_at_once(daemon: RealDaemon, code: int) -> None:
    daemon.add(f"exit-{code}", f"exit {code}", retry={"max": 5, "backoff": 0.1})
    run = daemon.finished(daemon.triggered(f"exit-{code}"))

    assert (run["state"], run["attempt"], run["exit_code"]) == ("dead", 1, code)
    assert run["reason"] == f"exit {code}; not retried: exit {code} says that trying again will not help"
    assert len(daemon.client.attempts(run["id"])) == 1


@pytest.mark.parametrize("program", ["/no/such/program", "/etc/passwd", "/"])
def test_a_program_that_cannot_be_started_is_dead_at_once(daemon: RealDaemon, program: str) -> None:
    daemon.add(f"bad {program}", [program], retry={"max": 5, "backoff": 0.1})
    run = daemon.finished(daemon.triggered(f"bad {program}"))

    assert (run["state"], run["class"], run["attempt"]) == ("dead", "spawn_error", 1)
    assert program in run["reason"]
    assert "it would not start the next time either" in run["reason"]


def test_a_job_may_name_what_is_hopeless(daemon: RealDaemon) -> None:
    retry = {"max": 2, "backoff": 0.1, "no_retry_on": [3, "signal"]}
    daemon.add("three", "exit 3", retry=retry)
    daemon.add("killed", "kill -9 $$", retry=retry)
    daemon.add("four", "exit 4", retry=retry)
    ended = [daemon.finished(daemon.triggered(name)) for name in ("three", "killed", "four")]
    assert [(run["state"], run["attempt"]) for run in ended] == [("dead", 1), ("dead", 1), ("dead", 3)]


# ── what cannot start now ──────────────────────────────────────────────


@contextlib.contextmanager
def without_processes(pids: list[int]) -> Iterator[None]:
    """The user of the runners may have no process more. Root has no such limit; whom it becomes has, from the second
    process on."""
    before = [resource.prlimit(pid, resource.RLIMIT_NPROC) for pid in pids]
    first = {"user": "nobody"} if os.geteuid() == 0 else {}
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, **first) as process:
        for pid, (_, hard) in zip(pids, before, strict=True):
            resource.prlimit(pid, resource.RLIMIT_NPROC, (0, hard))
        try:
            yield
        finally:
            for pid, limits in zip(pids, before, strict=True):
                resource.prlimit(pid, resource.RLIMIT_NPROC, limits)
            process.communicate()


@contextlib.contextmanager
def without_room(pids: list[int]) -> Iterator[None]:
    """A control group around the runners that is full with them."""
    made, home = _pids_group()
    try:
        for pid in pids:
            (made / "cgroup.procs").write_text(str(pid))
        (made / "pids.max").write_text(str(len(pids)))
        yield
    finally:
        (made / "pids.max").write_text("max")
        for pid in (made / "cgroup.procs").read_text().split():
            (home / "cgroup.procs").write_text(pid)
        made.rmdir()


def _pids_group() -> tuple[Path, Path]:
    """A new group, and the one that the tests are in; skips where none can be made."""
    for mount, kind in ((Path("/sys/fs/cgroup/pids"), ":pids:"), (Path("/sys/fs/cgroup"), "::")):
        own = next((line for line in Path("/proc/self/cgroup").read_text().splitlines() if kind in line), None)
        home = mount / own.rpartition(":")[2].lstrip("/") if own else mount
        made = home / f"jobctl-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            made.mkdir()
            if (made / "pids.max").exists():
                return made, home
            made.rmdir()
    pytest.skip("no control group that counts processes can be made here")


@pytest.mark.case("F129")
@pytest.mark.parametrize("full", [without_processes, without_room])
def test_a_host_without_a_free_process_burns_no_attempt(daemon: RealDaemon, full: Full) -> None:
    user = {"user": "nobody"} if full is without_processes and os.geteuid() == 0 else {}
    name = full.__name__
    daemon.add(name, ["/bin/echo", "at last"], retry={"max": 0}, **user)
    with full(daemon.all_runners()):
        run = daemon.triggered(name)
        waiting = daemon.until(lambda: _refused(daemon, run))
        warnings = daemon.client.status()["warnings"]
    ended = daemon.finished(run)
    (attempt,) = daemon.client.attempts(run["id"])

    assert (waiting["state"], waiting["attempt"]) == ("ready", 0)
    assert [words for words in warnings if "cannot be started now: EAGAIN" in words]
    assert (ended["state"], ended["attempt"], ended["key"]) == ("succeeded", 1, run["key"])
    assert attempt["fence"] > waiting["fence"]
    assert daemon.output(run) == b"at last\n"


def _refused(daemon: RealDaemon, run: Json) -> Json | None:
    """The run once its start has been given back."""
    seen = daemon.client.run(run["id"])
    return seen if seen["state"] == "ready" and seen["fence"] else None


@pytest.mark.case("F012")
def test_a_program_that_is_being_written_burns_no_attempt(daemon: RealDaemon, tmp_path: Path) -> None:
    program = tmp_path / "program"
    shutil.copy("/bin/true", program)
    with program.open("ab"):
        with contextlib.suppress(OSError):
            subprocess.run([program], check=True)
            pytest.skip("this kernel starts programs that are open for writing")
        daemon.add("upgrade", [str(program)], retry={"max": 0})
        run = daemon.triggered("upgrade")
        waiting = daemon.until(lambda: _refused(daemon, run))
    ended = daemon.finished(run)

    assert (waiting["state"], waiting["attempt"]) == ("ready", 0)
    assert (ended["state"], ended["attempt"]) == ("succeeded", 1)


# ── what is lost ──────────────────────────────────────────────


def lose(daemon: RealDaemon, gates: Gates, name: str) -> None:
    """The runner of the command dies, and the command with it."""
    daemon.kill_runners()
    kill(gates.pid(name))


def test_what_was_lost_is_retried_from_a_budget_of_its_own(daemon: RealDaemon, tmp_path: Path, marks: Marks) -> None:
    gates = Gates(tmp_path / "gates")
    first = " ".join(map(_quoted, gates.command("first")))
    daemon.add(
        "unlucky once",
        f"{marks.line('start')}; test $JOBCTL_ATTEMPT -gt 1 || exec {first}; exit 1",
        retry={"max": 1, "lost": 1, "backoff": 0.1},
    )
    run = daemon.until_says(daemon.triggered("unlucky once"), b"begin")
    lose(daemon, gates, "first")
    ended = daemon.finished(run)
    attempts = daemon.client.attempts(run["id"])
    daemon.runners()

    assert [attempt["class"] for attempt in attempts] == ["lost", "exit_code", "exit_code"]
    assert (ended["state"], ended["reason"]) == ("dead", "exit 1; 2 attempts have failed")
    assert {mark.key for mark in marks.all()} == {run["key"]}
    assert [mark.attempt for mark in marks.all()] == [1, 2, 3]


@pytest.mark.parametrize(
    ("answer", "state", "attempts", "reason"),
    [
        ("dead", "dead", 1, "what is lost is not retried here"),
        ("ask:0", "succeeded", 2, "it was done before it was lost, says its on-lost command"),
        ("ask:1", "succeeded", 3, None),
        ("ask:7", "dead", 2, "exit 7; so its on-lost command could not tell whether it was done"),
    ],
)
def test_what_was_lost_is_left_or_asked_about(
    daemon: RealDaemon, tmp_path: Path, marks: Marks, answer: str, state: str, attempts: int, reason: str | None
) -> None:
    gates = Gates(tmp_path / "gates")
    first = " ".join(map(_quoted, gates.command("first")))
    word, _, code = answer.partition(":")
    on_lost = f"ask:{marks.line('asked')}; exit {code}" if code else word
    command = f"{marks.line('start')}; test $JOBCTL_ATTEMPT -gt 1 || exec {first}"
    daemon.add(f"unlucky {answer}", command, retry={"max": 0, "on_lost": on_lost})
    run = daemon.until_says(daemon.triggered(f"unlucky {answer}"), b"begin")
    lose(daemon, gates, "first")
    ended = daemon.finished(run)
    daemon.runners()

    assert (ended["state"], ended["attempt"]) == (state, attempts)
    assert reason is None or ended["reason"].endswith(reason)
    assert [mark.what for mark in marks.all()] == ["start", "asked", "start"][:attempts]
    assert {mark.key for mark in marks.all()} == {run["key"]}
    assert [mark.attempt for mark in marks.all()] == list(range(1, attempts + 1))


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


# ── who watches ──────────────────────────────────────────────


def test_a_waiter_waits_through_the_retries_and_ends_with_the_last_code(daemon: RealDaemon) -> None:
    daemon.add("watched", "echo try $JOBCTL_ATTEMPT; test $JOBCTL_ATTEMPT = 3 || exit 9", retry={"backoff": 0.1})
    daemon.add("doomed", "echo no; exit 9", retry={"max": 1, "backoff": 0.1})
    waited, followed = daemon.jobctl("run", "watched", "--wait"), daemon.jobctl("run", "watched", "--follow")
    doomed = daemon.jobctl("run", "doomed", "--wait")
    dead = next(iter(daemon.client.dead(job="doomed")))
    again, hopeless = daemon.jobctl("wait", str(dead["id"])), daemon.jobctl("run", "--wait", "--", "/no/such/program")
    retried = daemon.jobctl("run", "--wait", "--retries", "2", "--backoff", "100ms", "--shell", "exit $JOBCTL_ATTEMPT")

    assert (waited.returncode, followed.returncode) == (0, 0), (waited, followed)
    assert followed.stdout == "try 1\ntry 2\ntry 3\n"
    assert (doomed.returncode, again.returncode, hopeless.returncode) == (9, 9, 127)
    assert "dead" in doomed.stderr + doomed.stdout
    assert retried.returncode == 3


def test_other_ends_have_codes_of_their_own(daemon: RealDaemon, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    daemon.add("held", gates.command("held"), timeout=3600)
    held = daemon.until_says(daemon.triggered("held"), b"begin")
    too_long = daemon.jobctl("wait", str(held["id"]), "--timeout", "100ms")
    conflict = daemon.jobctl("run", "held")
    daemon.client.cancel_run(held["id"])
    daemon.finished(held)
    cancelled = daemon.jobctl("wait", str(held["id"]))
    daemon.add("overdue", ["/usr/bin/tail", "-f", "/dev/null"], timeout=0.2, retry={"max": 0})
    overdue = daemon.jobctl("run", "overdue", "--wait")
    daemon.add("gone", gates.command("gone"), **NO_RETRY)
    gone = daemon.until_says(daemon.triggered("gone"), b"begin")
    lose(daemon, gates, "gone")
    daemon.finished(gone)
    lost = daemon.jobctl("wait", str(gone["id"]))

    assert (too_long.returncode, conflict.returncode) == (124, 5)
    assert (cancelled.returncode, overdue.returncode, lost.returncode) == (1, 124, 1)
