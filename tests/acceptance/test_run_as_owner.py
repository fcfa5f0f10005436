"""Commands of several users under one root daemon: exactly as their users, with nothing of root's."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kit.accounts import Account, Accounts, accounts, needs_root
from kit.as_user import TELL, ask, job_of, open_home, told
from kit.daemon import Json, RealDaemon
from kit.hanging_mount import hanging_mount

pytestmark = needs_root

#: Groups that root's daemon is started with: none of them is to be in a user's command.
_ROOTS_GROUPS = "0,4,24,27,100"


@pytest.fixture(scope="module")
def made() -> Iterator[Accounts]:
    with accounts() as some:
        yield some


@pytest.fixture(scope="module")
def users(made: Accounts) -> list[Account]:
    ada, bob = made.user(groups=["games", "mail"]), made.user()
    made.group(ada, bob)
    return [ada, bob]


@pytest.fixture(scope="module")
def daemon(users: list[Account]) -> Iterator[RealDaemon]:
    with open_home() as home:
        made = RealDaemon(home)
        made.within = lambda argv: ["setpriv", f"--groups={_ROOTS_GROUPS}", "--", *argv]
        try:
            yield made.start()
        finally:
            made.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Every user may look into it."""
    with open_home() as place:
        place.mkdir()
        yield place


def run(daemon: RealDaemon, name: str) -> Json:
    """The job's run, at its end."""
    return daemon.finished(daemon.triggered(name))


def trigger(daemon: RealDaemon, job: Json) -> Json:
    return daemon.triggered(str(job["id"]))


def login_path(name: str) -> str:
    for line in Path("/etc/login.defs").read_text().splitlines():
        if line.split()[:1] == [name]:
            return line.split("PATH=", 1)[1].strip()
    raise AssertionError(name)


# ── exactly ──────────────────────────────────────────────


def test_a_run_is_its_owners_in_everything(daemon: RealDaemon, users: list[Account]) -> None:
    for user in users:
        job = job_of(daemon, user, "tell", TELL, env={"MINE": "1"})
        run = trigger(daemon, job)
        found = told(daemon, run)
        groups = sorted(os.getgrouplist(user.name, user.gid))
        assert found["uids"] == [user.uid] * 3
        assert found["gids"] == [user.gid] * 3
        assert found["groups"] == groups
        assert found["umask"] == 0o022
        assert found["cwd"] == str(user.home)
        assert set(found["fds"]) == {"0", "1", "2"}
        assert found["fds"]["0"] == "/dev/null"
        assert found["fds"]["1"] == found["fds"]["2"]
        assert found["session"]
        assert found["group"]
        assert found["capabilities"] == ["0" * 16] * 4
        basics = {"HOME": str(user.home), "LOGNAME": user.name, "USER": user.name, "SHELL": "/bin/sh"}
        assert found["env"] == basics | {
            "PATH": login_path("ENV_PATH"),
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "MINE": "1",
            "JOBCTL_JOB": "tell",
            "JOBCTL_RUN_ID": str(run["id"]),
            "JOBCTL_ATTEMPT": "1",
            "JOBCTL_TRIGGER": "manual",
            **{name: found["env"][name] for name in ("JOBCTL_RUN_KEY", "JOBCTL_FENCE", "JOBCTL_SCHEDULED_AT")},
        }


def test_roots_jobs_run_as_root_or_as_the_user_that_root_names(daemon: RealDaemon, users: list[Account]) -> None:
    ada, _ = users
    daemon.add("roots", TELL)
    daemon.add("for-ada", TELL, user=ada.name)
    mine, hers = told(daemon, daemon.triggered("roots")), told(daemon, daemon.triggered("for-ada"))
    assert (mine["uids"], mine["env"]["PATH"]) == ([0] * 3, login_path("ENV_SUPATH"))
    assert (hers["uids"], hers["gids"]) == ([ada.uid] * 3, [ada.gid] * 3)
    assert hers["groups"] == sorted(os.getgrouplist(ada.name, ada.gid))
    assert (hers["env"]["PATH"], hers["env"]["HOME"]) == (login_path("ENV_PATH"), str(ada.home))


def test_an_ad_hoc_command_is_its_owners_too(daemon: RealDaemon, users: list[Account]) -> None:
    run = ask(daemon, users[1], "create_run", {"target": {"command": TELL}, "cwd": "/"})
    found = told(daemon, run)
    assert (found["uids"], found["cwd"]) == ([users[1].uid] * 3, "/")


def test_output_goes_to_dev_stdout_and_dev_stderr_and_cannot_be_read_back(
    daemon: RealDaemon, users: list[Account]
) -> None:
    job = job_of(daemon, users[0], "out", "echo a >>/dev/stdout; echo b >>/dev/stderr; cat </proc/self/fd/1; echo $?")
    run = daemon.finished(trigger(daemon, job))
    said = daemon.output(run).splitlines()
    assert said[:2] == [b"a", b"b"]
    assert said[-1] != b"0"


# ── what only root may open ──────────────────────────────────────────────


@pytest.mark.parametrize("fields", [
    {"payload_ref": "/etc/shadow"},
    {"payload_ref": "{private}/file"},
    {"env_file": "{private}/file"},
    {"cwd": "{private}"},
    {"payload_ref": "/proc/self/fd/3"},
    {"payload_ref": "/proc/1/environ"},
    {"env_file": "{link}"},
])  # fmt: skip
def test_what_only_root_may_open_is_not_opened(
    daemon: RealDaemon, users: list[Account], folder: Path, fields: dict[str, str]
) -> None:
    private = folder / "private"
    private.mkdir(mode=0o700)
    (private / "file").write_text("SECRET=1\n")
    (folder / "link").symlink_to(private / "file")
    given = {name: text.format(private=private, link=folder / "link") for name, text in fields.items()}
    job = job_of(daemon, users[0], f"open-{folder.parent.name[3:]}", "env; cat", **given)
    run = daemon.finished(trigger(daemon, job))
    assert (run["state"], run["class"]) == ("dead", "spawn_error")
    assert "Permission denied" in run["reason"] or "No such" in run["reason"]
    assert daemon.output(run) == b""


def test_a_payload_or_variables_that_are_gone_end_the_run_for_good(daemon: RealDaemon, users: list[Account]) -> None:
    for name, what in (("payload_ref", "payload file"), ("env_file", "environment file")):
        job = job_of(daemon, users[0], f"gone-{name}", "true", **{name: "/nonexistent/x"})
        run = daemon.finished(trigger(daemon, job))
        assert (run["state"], run["class"], run["attempt"]) == ("dead", "spawn_error", 1)
        assert f"ENOENT: {what} /nonexistent/x: No such file or directory" in run["reason"]


# ── what hangs ──────────────────────────────────────────────


@contextmanager
def leased(path: Path, owner: Account) -> Iterator[None]:
    """As long as it lasts every open of the file hangs, an exec of it too (fcntl(2): up to 45 s)."""
    holder = (
        "import fcntl, os, signal, sys; signal.signal(signal.SIGIO, signal.SIG_IGN);"
        "f = open(sys.argv[1], 'r+b'); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK); print('held', flush=True);"
        "sys.stdin.read()"
    )
    process = subprocess.Popen(
        owner.command([sys.executable, "-c", holder, str(path)]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"held\n"
        yield
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def of(owner: Account, path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    os.chown(path, owner.uid, owner.gid)
    return path


def until_starting(daemon: RealDaemon, uid: int) -> int:
    """The pid of the child that is to become the command, once it hangs: a child of a runner, of that user."""
    while True:
        for pid in daemon.runners():
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                status = Path(f"/proc/{child}/status").read_text()
                if f"\nUid:\t{uid}\t{uid}\t{uid}" in status and "\nState:\tS" in status:
                    return int(child)


@pytest.mark.parametrize("where", ["env_file", "payload_ref", "program"])
def test_a_start_that_hangs_holds_up_nobody_and_can_be_cancelled(
    daemon: RealDaemon, users: list[Account], folder: Path, where: str
) -> None:
    ada, bob = users
    script = of(ada, folder / "script", "#!/bin/sh\necho ran\n")
    variables = of(ada, folder / "variables", "A=1\n", 0o644)
    hangs = script if where == "program" else variables
    fields = {} if where == "program" else {where: str(variables)}
    slow = job_of(daemon, ada, f"slow-{where}", [str(script)], **fields)
    quick = job_of(daemon, bob, f"quick-{where}", ["/bin/echo", "here"])
    with leased(hangs, ada):
        held = [trigger(daemon, slow)] + [
            ask(daemon, ada, "create_run", {"target": {"command": [str(script)]}})
            for _ in range(2)
            if where == "program"
        ]
        until_starting(daemon, ada.uid)
        done = [daemon.finished(trigger(daemon, quick), 10) for _ in range(6)]
        roots = daemon.finished(daemon.run(["/bin/true"]), 10)
        seen = [daemon.client.run(run["id"])["state"] for run in held]
        for run in held:
            daemon.client.cancel_run(run["id"])
        ended = [daemon.finished(run) for run in held]
    assert [run["state"] for run in [*done, roots]] == ["succeeded"] * 7
    assert seen == ["running"] * len(held)
    assert [(run["state"], daemon.output(run)) for run in ended] == [("cancelled", b"")] * len(held)
    assert all("was not started" in run["reason"] for run in ended)


@pytest.mark.parametrize("where", ["cwd", "program"])
def test_a_file_system_of_a_users_that_hangs_holds_up_that_run_alone(
    daemon: RealDaemon, users: list[Account], folder: Path, where: str
) -> None:
    ada, bob = users
    with hanging_mount(folder / "mount") as mount:
        there = str(mount.place / "there")
        command = [there] if where == "program" else ["/bin/true"]
        slow = job_of(daemon, ada, f"far-{where}", command, **({} if where == "program" else {where: there}))
        quick = job_of(daemon, bob, f"near-{where}", ["/bin/true"])
        held = [trigger(daemon, slow)]
        mount.until_somebody_hangs()
        done = [daemon.finished(trigger(daemon, quick), 10) for _ in range(4)]
        done.append(daemon.finished(daemon.run(["/bin/true"]), 10))
        daemon.client.cancel_run(held[0]["id"])
        ended = daemon.finished(held[0], 10)
    assert [run["state"] for run in done] == ["succeeded"] * 5
    assert (ended["state"], "was not started" in ended["reason"]) == ("cancelled", True)


def test_a_runner_that_dies_while_a_start_hangs_leaves_no_double(
    daemon: RealDaemon, users: list[Account], folder: Path
) -> None:
    ada, _ = users
    log = of(ada, folder / "log", "", 0o644)
    script = of(ada, folder / "script", f"#!/bin/sh\necho $JOBCTL_ATTEMPT $$ >>{log}\n")
    job = job_of(daemon, ada, "orphan", [str(script)], retry={"max": 0, "lost": 1, "backoff": 1})
    with leased(script, ada):
        held = trigger(daemon, job)
        child = until_starting(daemon, ada.uid)
        dead = daemon.runners()
        daemon.kill_runners()
        while len(set(daemon.runners()) - set(dead)) < len(dead):
            pass
        seen = daemon.client.run(held["id"])
    ended = daemon.finished(held)
    assert seen["state"] == "running"
    assert seen["attempt"] == 1
    # The one that hung went on and ran; nobody saw its end, and only then it was run again.
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["1", "2"]
    assert log.read_text().splitlines()[0].split()[1] == str(child)
    assert (ended["state"], ended["attempt"]) == ("succeeded", 2)


def test_a_fifo_that_nobody_writes_to_is_an_empty_payload(
    daemon: RealDaemon, users: list[Account], folder: Path
) -> None:
    ada, _ = users
    os.mkfifo(folder / "fifo")
    (folder / "fifo").chmod(0o666)
    job = job_of(daemon, ada, "fifo", "cat; echo end", payload_ref=str(folder / "fifo"))
    assert daemon.output(daemon.finished(trigger(daemon, job))) == b"end\n"
    job = job_of(daemon, ada, "fifo-env", "true", env_file=str(folder / "fifo"))
    assert "not a regular file" in daemon.finished(trigger(daemon, job))["reason"]
