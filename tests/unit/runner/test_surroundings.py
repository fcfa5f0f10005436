"""Small parts: names and locks, options, OOM counting, identity."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from jobctl_daemon.runner import identity, limits, oom
from jobctl_daemon.runner.lock import Held, Lock, is_held
from jobctl_daemon.runner.options import Options, Usage
from jobctl_daemon.runner.processes import marker, send


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    path = str(tmp_path / "1.lock")
    assert not is_held(path)
    lock = Lock(path)
    assert is_held(path)
    with pytest.raises(Held):
        Lock(path)
    lock.remove()
    assert not is_held(path)
    Lock(path).remove()


def test_options() -> None:
    options = Options(["--state=/s", "--instance", "a.b-1", "--idle-exit", "0.5", "--foreground"])
    assert (options.state, options.instance, options.idle_exit_s, options.foreground) == ("/s", "a.b-1", 0.5, True)
    for bad in (["--instance", "1"], ["--state", "/s"], ["--state", "/s", "--instance", "a/b"]):
        with pytest.raises(Usage):
            Options(bad)


def test_a_name_with_parentheses_and_spaces_is_no_obstacle() -> None:
    fields = b" ".join(b"%d" % number for number in range(3, 60))
    found = identity.Stat(7, b"7 (a) S (b) R " + fields)
    assert (found.state, found.parent, found.group, found.session, found.start) == (b"R", 3, 4, 5, 21)


def test_identity_is_more_than_a_number() -> None:
    start = identity.start_time(os.getpid())
    assert start is not None
    assert identity.lives(os.getpid(), start)
    assert not identity.lives(os.getpid(), start + 1)
    assert not send(os.getpid(), start + 1, 9)


def test_a_marker_is_matched_whole() -> None:
    key = b"\0JOBCTL_RUN_KEY=uid/s:1\0"
    matches = marker(b"uid/s:1", 5, 7)
    assert not matches(b"\0JOBCTL_RUN_ID=5\0JOBCTL_FENCE=7\0")
    assert matches(key + b"A=1\0JOBCTL_RUN_ID=5\0JOBCTL_FENCE=7\0")
    assert not matches(key + b"JOBCTL_RUN_ID=55\0JOBCTL_FENCE=7\0")
    assert not matches(key + b"XJOBCTL_RUN_ID=5\0JOBCTL_FENCE=7\0")
    assert not matches(key + b"JOBCTL_RUN_ID=5\0JOBCTL_FENCE=8\0")
    assert marker(b"uid/s:1", 5)(key + b"JOBCTL_RUN_ID=5\0JOBCTL_FENCE=8\0")


def test_one_kill_for_memory_is_one_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 3
    monkeypatch.setattr(oom, "read_file", lambda *_: b"pgpgin 1\noom_kill %d\nx 1\n" % count)
    counter = oom.OomCounter()
    base = counter.sample()
    assert not counter.claims(base, None, 0)
    count = 4
    assert counter.claims(base, None, 0)
    assert not counter.claims(base, None, 0)


def test_the_table_of_limits_of_a_process() -> None:
    table = Path("/proc/self/limits").read_bytes()
    found = limits.read(table)
    assert len(found) >= 10
    for name, values in found.items():
        assert values == resource.getrlimit(name)
    assert limits.read(b"Limit  Soft  Hard  Units\nMax something new         1  2  x\n") == {}


def test_who_was_forked_and_has_not_had_an_exec_since() -> None:
    assert not identity.is_unborn(os.getppid())
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    try:
        assert identity.is_unborn(pid)
    finally:
        os.close(writer)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert identity.is_unborn(pid)  # also when it has ended so
        os.waitpid(pid, 0)
    assert identity.is_unborn(pid)
