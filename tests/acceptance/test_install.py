"""`./install.sh`: from an empty HOME to a recorded run, over an upgrade, and away again."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.crontabs.line import parse_line
from jobctl.paths import daemon_places
from kit.host import CRONTAB, IS_ROOT, Host, a_host

pytestmark = pytest.mark.long


@pytest.fixture
def host() -> Iterator[Host]:
    with a_host() as made:
        yield made


def _files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


def _json(host: Host, *words: str) -> Any:
    at = words.index("--") if "--" in words else len(words)
    done = host.jobctl(*words[:at], "--json", *words[at:])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _version(host: Host, version: str) -> None:
    file = host.checkout / "jobctl/jobctl/__init__.py"
    file.write_text(re.sub(r'__version__ = ".*"', f'__version__ = "{version}"', file.read_text()))


@pytest.mark.timeout(500)
def test_an_installation_lives_from_an_empty_home_over_an_upgrade_to_its_removal(host: Host) -> None:
    host.stand_in("crontab", CRONTAB)
    host.process_named("cron")
    (host.home / "crontab").write_text("5 4 * * * true\n")
    (host.home / "crontab").chmod(0o666)
    before = _files(host.checkout)

    _installs(host)
    _is_complete(host)
    assert _files(host.checkout) == before

    daemon = _json(host, "daemon", "status")
    run = _json(host, "run", "--", "/bin/sleep", "600")
    _a_failed_upgrade_changes_nothing(host)
    _an_interrupted_upgrade_changes_nothing(host)
    assert _json(host, "daemon", "status")["pid"] == daemon["pid"]

    _upgrades(host, run["id"], daemon["pid"])
    _is_repaired_by_the_same_version(host)
    _goes_back_when_the_new_daemon_does_not_start(host)
    _is_not_purged_while_a_command_runs(host)
    _is_removed_around_a_command_and_a_trial(host)
    _is_removed(host)


def _installs(host: Host) -> None:
    done = host.install()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "run 1, succeeded, exit code 0, output: hello from jobctl" in done.stdout
    assert "it comes back: cron starts it" in done.stdout
    assert '\n  export PATH="$HOME/.local/bin:$PATH"\n' in done.stdout
    assert "jobctl import crontab" in done.stdout
    assert "\n  jobctl add hello --every 5s -- date " in done.stdout
    assert "completions  bash: the package bash-completion is missing; without it, in ~/.bashrc: . " in done.stdout
    fish = shutil.which("fish", path=host.environ["PATH"])
    assert ("\n               fish: in every new shell" in done.stdout) == (fish is not None)
    assert done.stderr == ""


def _is_complete(host: Host) -> None:
    local = host.home / ".local"
    for name in ("jobctl", "jobd"):
        assert (local / "bin" / name).readlink() == local / "lib/jobctl/current/bin" / name
    for page in ("man1/jobctl.1", "man8/jobd.8"):
        assert (local / "share/man" / page).is_file()
    for file in (
        ".local/share/bash-completion/completions/jobctl",
        ".local/share/zsh/site-functions/_jobctl",
        ".config/fish/completions/jobctl.fish",
    ):
        assert "jobctl" in (host.home / file).read_text()
    assert list((local / "lib/jobctl/current").glob("lib/python3*/site-packages/jobctl_daemon/__pycache__/app.*.pyc"))

    # The daemon, the installer and the importer of crontabs mean the same places and the same line.
    state = Path(daemon_places({"HOME": str(host.home)}, 1000).state_dir)
    assert (state / "returns-after-reboot").read_text().startswith("yes\tcron")
    assert _json(host, "status")["returns_after_reboot"] is True
    assert (host.home / ".config/jobctl").stat().st_mode & 0o777 == 0o700
    assert (host.home / ".config/jobctl/jobs.d").stat().st_mode & 0o777 == 0o700
    first, ours = (host.home / "crontab").read_text().splitlines()
    assert first == "5 4 * * * true"
    assert ours == f"@reboot {local}/bin/jobd # jobctl: starts the daemon"
    assert parse_line(ours).starts_jobd


def _current(host: Host) -> str:
    return str((host.home / ".local/lib/jobctl/current").readlink())


def _environments(host: Host) -> set[str]:
    return {
        path.name for path in (host.home / ".local/lib/jobctl").iterdir() if path.is_dir() and not path.is_symlink()
    }


def _before(host: Host) -> str:
    """The version that --back leads to."""
    return str((host.home / ".local/lib/jobctl/previous").readlink())


def _a_failed_upgrade_changes_nothing(host: Host) -> None:
    current, environments = _current(host), _environments(host)
    # An isolated build asks for its tools, and no index has them.
    nothing = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}
    done = host.install("--python", str(host.quick_python()), **nothing)
    assert done.returncode == 1
    assert "pip could not install jobctl" in done.stderr
    assert "  | " in done.stderr  # pip's own words
    assert f"nothing was changed: {current} is still installed" in done.stderr
    assert (_current(host), _environments(host)) == (current, environments)


def _an_interrupted_upgrade_changes_nothing(host: Host) -> None:
    current, environments = _current(host), _environments(host)
    install = subprocess.Popen(
        host.command(str(host.checkout / "install.sh")),
        env=host.environ,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while _environments(host) == environments and time.monotonic() < deadline:
        os.sched_yield()
    os.killpg(install.pid, signal.SIGINT)  # as Ctrl-C does
    assert install.wait(60) == 130
    assert (_current(host), _environments(host)) == (current, environments)


def _upgrades(host: Host, run: int, old_pid: int) -> None:
    old = _current(host)
    _version(host, "99.0.1")
    builds = [_build(host)]
    assert host.run(str(host.home / ".local/bin/jobd"), "--standby").returncode == 0
    (standby,) = _json(host, "status")["standbys"]
    done = host.quick()
    assert done.returncode == 0, done.stdout + done.stderr
    _until(lambda: not Path(f"/proc/{standby}").exists())  # it would have gone on with the old version
    builds.append(_build(host))
    assert builds[1].startswith("99.0.1-")
    assert f"jobd {builds[0]} → {builds[1]}; commands that go on: 1" in done.stdout
    assert re.search(rf"for --back   {re.escape(old)} stays, [0-9]+ MB in /", done.stdout)
    assert _current(host) == "99.0.1"
    assert (host.home / "crontab").read_text().count("@reboot") == 1

    daemon = _json(host, "daemon", "status")
    assert daemon["version"] == "99.0.1"
    assert daemon["pid"] != old_pid
    # The command never noticed, and its end is recorded by the daemon that did not start it.
    assert _json(host, "show", "--run", str(run))["state"] == "running"
    assert host.jobctl("cancel", str(run)).returncode == 0
    assert host.jobctl("wait", str(run)).returncode != 0
    assert _json(host, "show", "--run", str(run))["outcome"] == "cancelled"


def _build(host: Host) -> str:
    said = host.run(str(host.home / ".local/bin/jobd"), "--version").stdout
    return said.split("(build ")[1].rstrip(")\n")


def _is_repaired_by_the_same_version(host: Host) -> None:
    before = _build(host)
    done = host.quick()
    assert done.returncode == 0, done.stdout + done.stderr
    assert _build(host) != before
    assert f"jobd {before} → {_build(host)}; commands that go on: 0" in done.stdout
    # Nobody works for the others any more: the repaired one had no command. The version before stays for the way back.
    assert _environments(host) == {"99.0.1+1", _before(host)}
    assert {runner["version"] for runner in _json(host, "status")["runners"]} == {_build(host)}


def _goes_back_when_the_new_daemon_does_not_start(host: Host) -> None:
    app = host.checkout / "daemon/jobctl_daemon/app.py"
    works = app.read_text()
    app.write_text(works + "\nraise RuntimeError('a new fault')\n")
    _version(host, "99.0.2")
    done = host.quick()
    app.write_text(works)
    assert done.returncode == 1
    assert "a new fault" in done.stderr
    assert "back to 99.0.1+1" in done.stderr
    assert _current(host) == "99.0.1+1"
    assert _json(host, "daemon", "status")["version"] == "99.0.1"


def _is_not_purged_while_a_command_runs(host: Host) -> None:
    run = _json(host, "run", "--", "/bin/sleep", "600")
    refused = host.install("--uninstall", "--purge")
    assert refused.returncode == 1
    assert "1 command runs; nothing was removed" in refused.stderr
    assert _json(host, "daemon", "status")["state"] == "running"
    # What it advises works as it stands.
    advice = refused.stderr.split("end it: ")[1].strip()
    assert host.run("sh", "-c", advice).returncode == 0
    host.jobctl("wait", str(run["id"]))
    assert _json(host, "show", "--run", str(run["id"]))["outcome"] == "cancelled"


def _is_removed_around_a_command_and_a_trial(host: Host) -> None:
    base = host.home / ".local/lib/jobctl"
    gate = host.home / "gate"
    run = _json(host, "run", "--", "/bin/sh", "-c", f"until [ -e {gate} ]; do sleep 0.1; done; exit 3")
    trial = {"JOBCTL_HOME": str(host.home / "trial")}
    jobd = str(host.home / ".local/bin/jobd")
    assert host.run(jobd, env=trial).returncode == 0
    trial_pid = (host.home / "trial/state/jobd.lock").read_text().strip()

    done = host.install("--uninstall")
    assert done.returncode == 0, done.stderr
    assert "goes on      1 command, undisturbed; the next installation records how it ended" in done.stdout
    assert f"with JOBCTL_HOME={host.home}/trial; kill {trial_pid} stops it" in done.stdout
    assert f"kept         {base}: programs that still run" in done.stdout
    assert _environments(host) == {"99.0.1+1"}
    assert not list((host.home / ".local").glob("bin/*"))
    os.kill(int(trial_pid), signal.SIGTERM)
    _until(lambda: not Path(f"/proc/{trial_pid}").exists())

    # The command's exit code is in no database yet; the next installation's daemon reads it from the old runner.
    gate.touch()
    done = host.quick()
    assert done.returncode == 0, done.stdout + done.stderr
    host.jobctl("wait", str(run["id"]))
    assert _json(host, "show", "--run", str(run["id"]))["exit_code"] == 3


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        os.sched_yield()


def _is_removed(host: Host) -> None:
    state = host.home / ".local/state/jobctl"
    shutil.rmtree(host.home / "trial")
    (host.home / "gate").unlink()
    # A runner that is to end asks this; the answer is not taken for one of its commands.
    host.stand_in("systemctl", "#!/bin/sh\nexec sleep 0.5\n")
    done = host.install("--uninstall")
    assert done.returncode == 0, done.stderr
    assert (host.home / "crontab").read_text() == "5 4 * * * true\n"
    # Folders too: what was made and is empty goes again.
    left = {str(path.relative_to(host.home)) for path in host.home.rglob("*") if state not in path.parents}
    assert {path for path in left if not path.startswith(".cache")} == {
        "crontab",
        ".local",
        ".local/state",
        ".local/state/jobctl",
    }
    assert (state / "jobctl.db").is_file()
    assert not (state / "returns-after-reboot").exists()

    again = host.install("--uninstall")
    assert again.returncode == 0
    assert "jobctl is not installed here" in again.stdout
    assert host.install("--uninstall", "--purge").returncode == 0
    assert not state.exists()


@pytest.mark.skipif(not IS_ROOT, reason="only root installs for the whole host")
@pytest.mark.timeout(200)
def test_root_installs_for_the_whole_host_and_hands_the_daemon_to_systemd(host: Host) -> None:
    # systemctl is a stand-in and nothing is started: a daemon of root's would use this host's own places.
    told = host.folder / "told"
    host.stand_in("systemctl", f'#!/bin/sh\necho "$*" >> {told}\n')
    (host.root / "run/systemd/system").mkdir(parents=True)
    _without_groups(host)
    before = {path for path in host.root.rglob("*") if host.root / "run" not in path.parents}
    done = host.quick("--no-start", as_root=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "it comes back: systemd starts jobd.service" in done.stdout
    assert "not started" in done.stdout

    current = (host.root / "opt/jobctl/current").readlink()
    build = host.run(str(host.root / "usr/local/bin/jobd"), "--version").stdout.split("(build ")[1].rstrip(")\n")
    assert build.startswith(f"{current}-")
    assert (host.root / "usr/local/bin/jobctl").readlink() == host.root / "opt/jobctl/current/bin/jobctl"
    assert host.run(str(host.root / "usr/local/bin/jobctl"), "--version").stdout.strip().endswith(str(current))
    assert told.read_text().splitlines() == ["daemon-reload", "enable jobd.service"]
    units = host.root / "etc/systemd/system"
    daemon, runner = (units / "jobd.service").read_text(), (units / "jobctl-runner@.service").read_text()
    assert f"Wants=jobctl-runner@{build}-1.service jobctl-runner@{build}-2.service" in daemon
    assert "ExecStart=/opt/jobctl/current/bin/jobd --foreground" in daemon
    assert f"ExecStart=/opt/jobctl/{current}/bin/python3 -I -m jobctl_daemon.runner --state /var/lib/jobctl" in runner
    assert f"--program-version {build} " in runner
    assert (host.root / "etc/jobctl").stat().st_mode & 0o777 == 0o755
    assert (host.root / "etc/jobctl/jobs.d").stat().st_mode & 0o777 == 0o755
    assert (host.root / "var/lib/jobctl/returns-after-reboot").read_text().startswith("yes\t")
    assert (host.root / "var/lib/jobctl").stat().st_mode & 0o777 == 0o700
    assert "groups       jobctl, crontab; who is in jobctl looks after everybody's jobs" in done.stdout
    spool = (host.root / "var/spool/cron/crontabs").stat()
    assert (spool.st_mode & 0o7777, spool.st_uid, spool.st_gid) == (0o1730, 0, _groups(host)["crontab"])
    for file in ("etc/tmpfiles.d/jobctl.conf", "etc/sysusers.d/jobctl.conf"):
        assert "jobctl" in (host.root / file).read_text()

    told.unlink()
    done = host.install("--uninstall", "--purge", as_root=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert told.read_text().splitlines() == ["disable --now jobd.service", "daemon-reload"]
    left = {path for path in host.root.rglob("*") if host.root / "run" not in path.parents} - before
    assert {path.name for path in left} <= {"group-", "gshadow-", ".pwd.lock"}  # of groupadd(8)
    assert set(_groups(host)) == {"root", "crontab"}


def _without_groups(host: Host) -> None:
    (host.root / "etc/group").write_text("root:x:0:\n")
    (host.root / "etc/gshadow").write_text("root:*::\n")
    (host.root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")


def _groups(host: Host) -> dict[str, int]:
    rows = [line.split(":") for line in (host.root / "etc/group").read_text().splitlines()]
    return {row[0]: int(row[2]) for row in rows}


@pytest.mark.skipif(not IS_ROOT, reason="only root installs for the whole host")
@pytest.mark.timeout(200)
def test_where_init_runs_the_daemon_comes_back_by_a_script_of_its_own_and_crontab_is_put_beside_it(host: Host) -> None:
    told = host.folder / "told"
    host.stand_in("update-rc.d", f'#!/bin/sh\necho "$*" >> {told}\n')
    host.stand_in("crontab", CRONTAB)
    (host.home / "crontab").write_text("5 4 * * * true\n@reboot /usr/local/bin/jobd # jobctl: starts the daemon\n")
    for folder in ("proc/1", "etc/init.d"):
        (host.root / folder).mkdir(parents=True)
    (host.root / "proc/1/comm").write_text("init\n")
    (host.root / "etc/inittab").touch()
    _without_groups(host)
    host.process_named("cron")
    foreign = host.root / "usr/local/bin/crontab"
    foreign.parent.mkdir(parents=True)
    foreign.touch()
    refused = host.install("--crontab", as_root=True)
    assert refused.returncode == 2
    assert f"{foreign} is there and not from this installer" in refused.stderr
    foreign.unlink()

    done = host.quick("--no-start", "--crontab", as_root=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "it comes back: init starts it, by /etc/init.d/jobd" in done.stdout
    assert f"crontab      {foreign}, but {host.bin}/crontab comes first on this PATH" in done.stdout
    assert told.read_text() == "jobd defaults\n"
    script = host.root / "etc/init.d/jobd"
    assert script.stat().st_mode & 0o777 == 0o755
    assert "\nJOBD=/opt/jobctl/current/bin/jobd\n" in script.read_text()
    assert "\nSTATE=/var/lib/jobctl\n" in script.read_text()
    assert "@" not in script.read_text()
    # Cron may be what goes: its line would be one way too many, or none.
    assert (host.home / "crontab").read_text() == "5 4 * * * true\n"
    assert host.run(str(foreign), "-h").stdout.startswith("usage:\tcrontab")

    done = host.install("--uninstall", as_root=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert told.read_text() == "jobd defaults\njobd remove\n"
    assert not script.exists()
    assert not foreign.is_symlink()
    assert "jobctl" in _groups(host)
