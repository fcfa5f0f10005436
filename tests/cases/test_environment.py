"""Theme environment: what commands get does not depend on how the daemon was started."""

import json
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.accounts import Account, accounts
from kit.as_user import TELL, open_home, told
from kit.daemon import CLI, Json, RealDaemon

pytestmark = pytest.mark.long

#: What a daemon may have been started with, and no command is to see.
_SECRETS = {
    "DATABASE_URL": "pgsecret",
    "JOBCTL_ADMIN_TOKEN": "tokensecret",
    "LD_PRELOAD": "/nonexistent/secret.so",
    "PYTHONPATH": "/nonexistent/secret",
    "VIRTUAL_ENV": "/nonexistent/secret",
    "NOTIFY_SOCKET": "@jobctl-test-secret",
    "LISTEN_FDS": "1",
    "LISTEN_PID": "1",
    "LISTEN_FDNAMES": "secret",
    "SSH_AUTH_SOCK": "/tmp/secret",
    "http_proxy": "http://secret:1",
    "LC_ALL": "C",
    "LANG": "xx_YY.secret",
    "TZ": "Secret/Zone",
}
_SIGNALS = "grep -E 'Sig(Ign|Blk)' /proc/self/status; bash -c 'yes | head -1 >/dev/null; echo ${PIPESTATUS[0]}'"
_CLEAN = [b"SigBlk:\t0000000000000000", b"SigIgn:\t0000000000000000", b"141"]


@pytest.fixture
def start() -> Iterator[Callable[..., RealDaemon]]:
    """Starts a daemon of its own; `within` makes the command that is really started of the usual one."""
    daemons = []
    with open_home() as folder:
        folder.mkdir()

        def make(name: str, within: Callable[[list[str]], list[str]] = list, **environ: str) -> RealDaemon:
            daemon = RealDaemon(folder / name)
            daemon.within = within
            daemon.environ |= environ
            daemons.append(daemon)
            return daemon.start()

        try:
            yield make
        finally:
            for daemon in daemons:
                daemon.close()


@pytest.fixture(scope="module")
def user() -> Iterator[Account | None]:
    """Somebody else than the daemon's user, where there can be one: then a start takes another way."""
    if os.geteuid() != 0:
        yield None
        return
    with accounts() as made:
        yield made.user("-c", "Zoë Müller 漢")


def users(user: Account | None) -> list[dict[str, str]]:
    """What is added to a job to have it run as each user that is there."""
    return [{}] if user is None else [{}, {"user": user.name}]


@pytest.mark.case("F117")
def test_signals_are_as_at_a_login_on_every_way_to_a_start(
    start: Callable[..., RealDaemon], user: Account | None
) -> None:
    daemon = start("d", lambda argv: ["env", "--ignore-signal=PIPE", "--block-signal=USR2", *argv])
    for number, fields in enumerate(users(user)):
        name = f"job{number}"
        daemon.add(
            name, f"{_SIGNALS}; exit 9", retry={"max": 1, "backoff": "1s", "backoff_max": "1s"},
            schedule={"at": "in 1s"}, **fields,
        )  # fmt: skip
        dead = daemon.until(lambda name=name: [run for run in daemon.runs_of(name) if run["state"] == "dead"])[0]  # type: ignore[misc]
        assert dead["attempt"] == 2
        said = [daemon.client.log(dead["id"], attempt=attempt).read() for attempt in (1, 2)]
        daemon.client.replay({"ids": [dead["id"]]})
        replayed = daemon.state(dead, "dead", attempt=4)
        said += [daemon.client.log(replayed["id"]).read(), daemon.output(daemon.finished(daemon.triggered(name)))]
        said.append(daemon.output(daemon.finished(daemon.run(_SIGNALS, **fields))))
        assert [text.splitlines() for text in said] == [_CLEAN] * 5


def _surroundings(daemon: RealDaemon, fields: dict[str, Any]) -> Json:
    found = told(daemon, daemon.run(TELL, cwd="/", **fields))
    names = ("umask", "nice", "cpus", "oom", "policy", "limits")
    return {name: found[name] for name in names}


def _may_raise_limits() -> bool:
    """CAP_SYS_RESOURCE, which root has not everywhere (capabilities(7))."""
    status = Path("/proc/self/status").read_text()
    return bool(int(status.partition("CapEff:")[2].split()[0], 16) & 1 << 24)


@pytest.mark.case("F119")
def test_limits_niceness_umask_and_scores_are_not_those_of_the_daemon(
    start: Callable[..., RealDaemon], user: Account | None
) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def oddly(argv: list[str]) -> list[str]:
        kind = "" if _may_raise_limits() else "-S"
        limits = f"ulimit -n {hard}; ulimit {kind} -c 0; ulimit {kind} -s 4096; ulimit {kind} -f 1000000; umask 077"
        score = "echo 300 >/proc/self/oom_score_adj"
        return ["/bin/bash", "-c", f'{limits}; {score}; exec nice -n 5 taskset -c 0 chrt -b 0 "$@"', "bash", *argv]

    plain, odd = start("plain"), start("odd", oddly)
    for fields in users(user):
        want, have = _surroundings(plain, fields), _surroundings(odd, fields)
        if os.geteuid() != 0:  # what takes root's rights to undo stays
            for found in (want, have):
                for name in ("nice", "oom", "policy"):
                    del found[name]
            limited = {"RLIMIT_STACK", "RLIMIT_FSIZE", "RLIMIT_CORE"}
            want["limits"], have["limits"] = (
                {name: value for name, value in found["limits"].items() if name not in limited}
                for found in (want, have)
            )
        assert have == want
        assert (have["umask"], have["limits"]["RLIMIT_NOFILE"][0]) == (0o022, 1024)
        assert have["cpus"] == list(range(os.cpu_count() or 1))
        if os.geteuid() == 0:
            assert (have["nice"], have["oom"], have["limits"]["RLIMIT_CORE"][0]) == (0, "0", 0)
        own = told(odd, odd.client.trigger(odd.add("own", TELL, umask="027", nice=7, **fields)["name"], {}))
        assert (own["umask"], own["nice"]) == (0o027, 7)
        shown = odd.jobctl("show", "own").stdout
        assert "027" in shown
        assert "nice 7" in shown
        odd.jobctl("rm", "own", "--yes")


@pytest.mark.case("F120")
def test_nothing_of_the_daemons_environment_reaches_a_command_or_a_runner(
    start: Callable[..., RealDaemon], user: Account | None
) -> None:
    daemon = start("d", **_SECRETS)
    for fields in users(user):
        found = told(daemon, daemon.run(TELL, cwd="/", env={"ASKED": "1"}, **fields))
        assert "secret" not in json.dumps(found).lower()
        expected = {"PATH", "HOME", "SHELL", "LOGNAME", "USER", "LANG", "PYTHONUNBUFFERED", "ASKED"}
        assert {name for name in found["env"] if not name.startswith("JOBCTL_")} - {"LC_CTYPE"} == expected
        assert set(found["fds"]) == {"0", "1", "2"}
    for pid in daemon.runners():
        told_of = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
        assert b"secret" not in told_of
        assert b"LISTEN" not in told_of
    # What a job needs it is given, or it is told that it is not there: never an empty text in its stead.
    run = daemon.finished(daemon.triggered(daemon.add("asks", TELL, env_file="/nonexistent/env")["name"]))
    assert (run["class"], "environment file /nonexistent/env" in run["reason"]) == ("spawn_error", True)


@pytest.mark.case("F120")
def test_a_runner_that_a_manager_starts_passes_nothing_on(tmp_path: Path) -> None:
    """As systemd does it: in the foreground, with variables of its own in the environment."""
    from unit.runner.harness import ENV, Client, Runner

    runner = Runner(tmp_path)
    process = subprocess.Popen(
        runner.command("--foreground"),
        env={**_SECRETS, "LD_PRELOAD": "", "PATH": "/usr/bin:/bin", "INVOCATION_ID": "secret", "JOURNAL_STREAM": "8:1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        while not (tmp_path / "runner" / "1.sock").exists():
            assert process.poll() is None, process.stderr and process.stderr.read()
        client: Client = runner.connect()
        other = {"name": "nobody", "uid": 65534, "gid": 65534, "groups": []} if os.geteuid() == 0 else None
        for fields in ({}, {"env_file": "/dev/null"} if other is None else {"user": other}):
            result = runner.run(client, ["/usr/bin/env"], **({} if "env_file" in fields else fields))
            names = {line.split(b"=")[0].decode() for line in runner.log(result["id"]).splitlines()}
            assert names == {*ENV, "JOBCTL_RUN_KEY", "JOBCTL_RUN_ID", "JOBCTL_FENCE"}
    finally:
        runner.close()
        process.wait(10)
        assert process.stderr is not None
        process.stderr.close()


@pytest.mark.case("F116")
@pytest.mark.parametrize("locale", ["none", "C", "C.UTF-8", "xx_YY"])
def test_a_command_is_in_utf8_whatever_the_daemon_was_started_in(
    start: Callable[..., RealDaemon], user: Account | None, locale: str
) -> None:
    unset = [word for name in ("LANG", "LC_ALL", "LC_CTYPE", "LANGUAGE") for word in ("-u", name)]
    given = [] if locale == "none" else [f"LC_ALL={locale}"]
    daemon = start("dä", lambda argv: ["env", *unset, *given, *argv])
    folder = daemon.home.parent / "Ordner ü 漢"
    folder.mkdir(mode=0o755)
    script = (
        'locale charmap; LC_ALL= PYTHONUTF8=0 /usr/bin/python3 -c \'print(chr(228))\'; pwd; echo "$1"; echo "$WORT"'
    )
    for number, fields in enumerate(users(user)):
        job = daemon.add(
            f"Größe-{number}", ["/bin/sh", "-c", script, "sh", "é漢"], cwd=str(folder), env={"WORT": "ö漢"}, **fields
        )
        run = daemon.finished(daemon.triggered(job["name"]))
        lines = daemon.output(run).decode().splitlines()
        assert lines[:3] == ["UTF-8", "ä", str(folder)]
        assert lines[3:] == ["é漢", "ö漢"]
        for way in ({}, {"LC_ALL": "C"}, {"LC_ALL": "xx_YY"}) if number == 0 else ():
            listed = subprocess.run(
                [*CLI, "ls"], env={"PATH": os.environ["PATH"], "HOME": "/", "JOBCTL_HOME": str(daemon.home), **way},
                capture_output=True, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert listed.returncode == 0, listed.stderr
            assert b"UnicodeEncodeError" not in listed.stderr
            assert f"Größe-{number}".encode() in listed.stdout or b"Gr" in listed.stdout
        assert daemon.output(daemon.finished(daemon.run("locale charmap", env={"LC_ALL": "C"}, **fields))) == (
            b"ANSI_X3.4-1968\n"
        )
