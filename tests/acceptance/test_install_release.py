"""`install.sh` in a release folder: what it refuses, what it installs, and the way back to the version before."""

import json
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kit import releases
from kit.host import IS_ROOT, Host, a_host
from kit.release import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

NO_LIBRARY = """#!/bin/sh
echo "$0: /lib/x86_64-linux-gnu/libc.so.6: version \\`GLIBC_2.99' not found (required by $0)" >&2
echo "$0: /lib/x86_64-linux-gnu/libm.so.6: version \\`GLIBC_2.9' not found (required by $0)" >&2
exit 1
"""


@pytest.fixture
def host() -> Iterator[Host]:
    with a_host() as made:
        yield made


def base(host: Host) -> Path:
    return host.home / ".local/lib/jobctl"


def names(host: Host) -> set[str]:
    return {path.name for path in base(host).iterdir() if path.is_dir() and not path.is_symlink()}


def links(host: Host, *which: str) -> tuple[str, ...]:
    return tuple(str((base(host) / name).readlink()) for name in which or ("current", "previous"))


def told(host: Host, *words: str) -> Any:
    done = host.jobctl(*words[:1], "--json", *words[1:])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    found = {str(path): path.lstat() for path in sorted(folder.rglob("*"))}
    return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in found.items()}


def test_what_is_not_right_with_a_release_is_refused_before_anything_is_changed(host: Host) -> None:
    good = releases.kept("99.0.0")
    folder = host.folder / "release"
    shutil.copytree(good, folder)
    file, table = releases.file_of(folder), folder / "SHA256SUMS"
    entries = table.read_text()
    entry = entries.splitlines()[0]
    arch = file.name.rpartition("-linux-")[2]

    def refused(says: str, *words: str) -> None:
        done = host.take(folder, *words)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert says in done.stderr
        assert not [*host.home.iterdir()]

    table.write_text(entries.replace(entry[:8], "00000000"))
    refused(f"{file.name} is not what {table} says")
    table.write_text(entries.replace(f"{entry}\n", ""))
    refused(f"{table} has no entry for {file.name}")
    table.write_text(entries + entry.replace("  ", " *") + "\n")
    refused(f"{table} has 2 entries for {file.name}, so none of them counts")
    table.write_bytes(entries.replace("\n", "\r\n").encode())
    refused(f"{table} has the line ends of Windows (CRLF)")
    table.unlink()
    refused(f"there is no SHA256SUMS beside {file}")
    table.write_text("".join(f"{line[:64].upper()}{line[64:]}\n" for line in entries.splitlines()))
    assert host.take(folder, "--dry-run").returncode == 0
    table.write_text(entries)
    home = host.home / "line\nbreak"
    home.mkdir(mode=0o777)
    done = host.take(folder, HOME=str(home))
    assert (done.returncode, "HOME has a line break" in done.stderr, [*home.iterdir()]) == (2, True, [])
    home.rmdir()

    refused("there is no /nonexistent", "--from", "/nonexistent")
    refused("it is not called jobctl-VERSION-linux-", "--from", str(table))
    refused("--python goes with a checkout", "--python", "/usr/bin/python3")
    other = folder / "jobctl-99.0.1-linux-pdp11"
    other.touch()
    refused(f"{other} is for pdp11, and this host is {arch}", "--from", str(other))
    second = folder / f"jobctl-99.0.1-linux-{arch}"
    second.touch()
    refused(f"there are 2 releases in {folder}")
    second.unlink()
    nameless = folder / f"jobctl-..-linux-{arch}"
    nameless.touch()
    refused(f"{nameless.name} is no release: .. is no version", "--from", str(nameless))
    nameless.unlink()
    file.unlink()
    refused(f"the release in {folder} is for pdp11, and this host is {arch}")
    other.unlink()
    refused(f"there is no release in {folder}")

    file.write_text(NO_LIBRARY)
    releases.sums(folder, file.name)
    done = host.take(folder)
    assert done.returncode == 2
    assert "this release needs glibc 2.99, and this host has glibc 2." in done.stderr
    assert not [*host.home.iterdir()]


def test_a_release_needs_nothing_but_its_folder_and_the_installed_script_needs_not_even_that(host: Host) -> None:
    for name in ("python3", "pip", "curl", "wget"):
        host.stand_in(name, "#!/bin/sh\necho $0 was called >&2\nexit 9\n")
    folder = host.folder / "release"
    shutil.copytree(releases.kept("99.0.0"), folder)
    releases.file_of(folder).chmod(0o644)  # as it is after a download
    before = everything(host.home)
    done = host.take(folder, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"programs     would come to {base(host)}/99.0.0" in done.stdout
    assert "daemon       would be started" in done.stdout
    assert everything(host.home) == before

    for_everybody = host.root / "run/jobctl/jobd.sock"
    for_everybody.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(for_everybody))
    offline = ["unshare", "-n"] if IS_ROOT else []
    words = [*offline, *host.command(str(folder / "install.sh"))]
    done = host.run(*words, as_root=True)
    assert "host         it has a jobd for everybody already." in done.stdout
    assert f"jobctl --socket {for_everybody}\n" in done.stdout
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "jobctl 99.0.0 for this user, from jobctl-99.0.0-linux-" in done.stdout
    assert "run 1, succeeded, exit code 0, output: hello from jobctl" in done.stdout
    assert f"To remove it again: {base(host)}/install.sh --uninstall" in done.stdout
    assert host.jobctl("version").stdout.split() == ["jobctl", "99.0.0", "jobd", "99.0.0"]
    assert (host.home / ".local/share/man/man8/jobd.8").is_file()
    assert (host.home / ".local/share/bash-completion/completions/jobctl").is_file()
    assert not (base(host) / ".release").exists()

    shutil.rmtree(folder)
    nothing = host.installed()
    assert (nothing.returncode, f"there is no release in {base(host)}" in nothing.stderr) == (2, True)
    nowhere = host.installed("--back")
    assert (nowhere.returncode, "no version before 99.0.0 is kept" in nowhere.stderr) == (2, True)
    before = everything(host.home)
    plan = host.installed("--uninstall", "--purge", "--dry-run")
    assert plan.returncode == 0, plan.stderr
    assert "would be stopped" in plan.stdout
    assert everything(host.home) == before
    done = host.installed("--uninstall", "--purge", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not [path for path in host.home.rglob("*") if ".cache" not in path.parts]


def test_unattended_nothing_is_said_or_started_that_was_not_wanted(host: Host) -> None:
    done = host.take(releases.kept("99.0.0"), "--quiet", "--no-start")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert host.jobctl("daemon", "status").returncode == 4
    # In a checkout, a release that is named is what is taken. What one has unpacked for itself is no version of ours.
    (base(host) / "unpacked").mkdir()
    done = host.install("--from", str(releases.file_of(releases.kept("99.0.0"))), "--no-first-job")
    assert done.returncode == 0, done.stderr
    assert "from jobctl-99.0.0-linux-" in done.stdout
    assert "first job" not in done.stdout
    assert told(host, "runs")["items"] == []
    # The same version again is a repair, and no version before.
    assert names(host) == {"99.0.0+1", "unpacked"}

    before = everything(base(host))
    done = host.take(releases.kept("99.1.0"), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"current      {base(host)}/current would lead to 99.1.0, no more to 99.0.0+1" in done.stdout
    assert "daemon       would be restarted; commands that would go on: 0" in done.stdout
    assert everything(base(host)) == before
    done = host.take(releases.kept("99.1.0"), "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(told(host, "runs")["items"]) == 1
    assert names(host) == {"99.1.0", "99.0.0+1", "unpacked"}
    assert host.installed("--uninstall", "--quiet").returncode == 0
    assert not base(host).exists()


def test_the_way_back_leads_over_the_copy_of_the_database_where_it_must_and_loses_nothing_unsaid(host: Host) -> None:
    assert host.take(releases.kept("99.0.0"), "--quiet").returncode == 0
    assert host.jobctl("add", "before", "--", "/bin/true").returncode == 0
    gate = host.home / "gate"
    command = f"echo $$ >{host.home}/pid; until [ -e {gate} ]; do sleep 0.1; done; exit 3"
    through = told(host, "run", "--", "/bin/sh", "-c", command)["id"]
    newer = releases.kept("99.1.0", releases.with_a_newer_schema)
    assert host.take(newer, "--quiet", "--no-first-job").returncode == 0
    assert host.jobctl("add", "after", "--", "/bin/true").returncode == 0
    for _ in range(2):
        assert host.jobctl("run", "--wait", "--", "/bin/true").returncode == 0

    before = everything(base(host))
    refused = host.installed("--back")
    assert (refused.returncode, refused.stdout) == (2, "jobctl 99.0.0, back from 99.1.0\n")
    assert "99.0.0 cannot use the database, which 99.1.0 has changed; nothing was done" in refused.stderr
    assert "What was recorded since is not in it: 2 runs ended, 1 change of jobs and queues." in refused.stderr
    assert f"{base(host)}/install.sh --back --with-copy" in refused.stderr
    assert everything(base(host)) == before
    planned = host.installed("--back", "--with-copy", "--dry-run")
    assert "database     would be the copy" in planned.stdout
    assert everything(base(host)) == before
    assert host.jobctl("version").stdout.split()[-1] == "99.1.0"

    done = host.installed("--back", "--with-copy")
    assert done.returncode == 0, done.stderr
    assert "since then   2 runs ended, 1 change of jobs and queues; kept in" in done.stdout
    assert f"To change the two again: {base(host)}/install.sh --back" in done.stdout
    assert links(host) == ("99.0.0", "99.1.0")
    assert host.jobctl("version").stdout.split()[-1] == "99.0.0"
    assert "before" in host.jobctl("ls").stdout
    assert host.jobctl("show", "after").returncode == 3
    (replaced,) = (host.home / ".local/state/jobctl/replaced").glob("*/jobctl.db")
    kept = sqlite3.connect(f"file:{replaced}?mode=ro", uri=True)
    assert kept.execute("SELECT count(*) FROM jobs WHERE name = 'after'").fetchone() == (1,)
    kept.close()
    # The command went on through both, and its end is recorded.
    assert Path("/proc", (host.home / "pid").read_text().strip()).exists()
    gate.touch()
    assert host.jobctl("wait", str(through)).returncode == 3

    forward = host.installed("--back")
    assert forward.returncode == 0, forward.stderr
    assert forward.stdout.startswith("jobctl 99.1.0, forward from 99.0.0\n")
    assert links(host) == ("99.1.0", "99.0.0")
    assert told(host, "show", "--run", str(through))["exit_code"] == 3
    # Settings that the other one has never heard of are found before anything is stopped.
    (host.home / ".config/jobctl/jobd.toml").write_text("colour = 'red'\n")
    before = everything(base(host))
    refused = host.installed("--back")
    assert refused.returncode == 2
    assert "99.0.0 would not start: " in refused.stderr
    assert "there is no key `colour`" in refused.stderr
    assert everything(base(host)) == before
    assert host.jobctl("version").stdout.split()[-1] == "99.1.0"


def test_a_version_that_changes_the_database_and_fails_is_taken_back_unless_something_would_be_lost(host: Host) -> None:
    assert host.take(releases.kept("99.0.0"), "--quiet").returncode == 0
    fails = releases.kept("99.1.0", releases.that_changes_the_database_and_fails)
    done = host.take(fails)
    assert done.returncode == 1
    assert "the daemon did not start" in done.stderr
    assert "back to 99.0.0" in done.stderr
    assert host.jobctl("version").stdout.split() == ["jobctl", "99.0.0", "jobd", "99.0.0"]
    assert told(host, "show", "--run", "1")["state"] == "succeeded"

    does = releases.kept("99.2.0", releases.that_does_something_and_fails)
    done = host.take(does)
    assert done.returncode == 1
    assert "99.0.0 would not start now either" in done.stderr
    assert (
        f"back to it, and to the database of before the upgrade: {base(host)}/install.sh --back --with-copy"
        in done.stderr
    )
    assert host.jobctl("daemon", "status").returncode == 4
    done = host.installed("--back", "--with-copy")
    assert done.returncode == 0, done.stderr
    assert "since then   0 runs ended, 1 change of jobs and queues" in done.stdout
    assert host.jobctl("version").stdout.split() == ["jobctl", "99.0.0", "jobd", "99.0.0"]
    assert told(host, "show", "--run", "1")["state"] == "succeeded"


#: Stands for `install`: what it does in the place of keeping the script, which comes after the switch.
AT_THE_SWITCH = """#!/bin/sh
case "$*" in */.install.sh) {does} ;; *) exec /usr/bin/install "$@" ;; esac
"""


def test_a_change_that_ends_half_way_is_undone_and_loses_no_version(host: Host) -> None:
    before, after = releases.kept("99.0.0"), releases.kept("99.1.0")
    assert host.take(before, "--quiet", "--no-first-job").returncode == 0

    def only_the_old_one_runs() -> None:
        assert str((base(host) / "current").readlink()) == "99.0.0"
        assert not (base(host) / "previous").is_symlink()
        assert not (base(host) / ".change").exists()
        assert host.jobctl("version").stdout.split() == ["jobctl", "99.0.0", "jobd", "99.0.0"]

    # Ended right after the switch; ended with no daemon running; ended by force, which the next start mends.
    host.stand_in("install", AT_THE_SWITCH.format(does="kill -TERM $PPID"))
    done = host.take(after)
    assert (done.returncode, "back to 99.0.0" in done.stderr) == (143, True), done.stderr
    only_the_old_one_runs()
    (host.bin / "install").unlink()
    done = host.take(releases.kept("99.2.0", releases.that_ends_its_installer))
    assert (done.returncode, "back to 99.0.0" in done.stderr) == (143, True), done.stderr
    only_the_old_one_runs()
    assert names(host) == {"99.0.0"}
    host.stand_in("install", AT_THE_SWITCH.format(does="kill -KILL $PPID"))
    assert host.take(after).returncode == -9
    assert links(host, "current") == ("99.1.0",)
    done = host.installed("--back")
    assert (done.returncode, "no version before 99.0.0 is kept" in done.stderr) == (2, True), done.stderr
    only_the_old_one_runs()

    # A full disk: what nothing depends on fails nothing.
    host.stand_in("install", AT_THE_SWITCH.format(does="exit 1"))
    done = host.take(after, "--quiet", "--no-first-job")
    assert (done.returncode, "install.sh could not be written" in done.stderr) == (0, True), done.stderr
    assert links(host) == ("99.1.0", "99.0.0")
    host.stand_in("install", AT_THE_SWITCH.format(does="kill -TERM $PPID"))
    assert host.run(str(after / "install.sh"), "--back").returncode == 143
    assert links(host) == ("99.1.0", "99.0.0")
    assert host.jobctl("version").stdout.split()[-1] == "99.1.0"
    # What an installer of before left like that.
    (base(host) / "previous").unlink()
    (base(host) / "previous").symlink_to("99.1.0")
    (host.bin / "install").unlink()
    assert host.installed("--back").returncode == 0
    assert links(host) == ("99.0.0", "99.1.0")
    assert names(host) == {"99.0.0", "99.1.0"}


#: The same, which waits there.
HELD = 'touch {held}; until [ -e {gate} ]; do sleep 0.05; done; exec /usr/bin/install "$@"'


def test_while_one_is_at_work_another_changes_nothing(host: Host) -> None:
    assert host.take(releases.kept("99.0.0"), "--quiet", "--no-first-job").returncode == 0
    held, gate = host.home / "held", host.home / "gate"
    host.stand_in("install", AT_THE_SWITCH.format(does=HELD.format(held=held, gate=gate)))
    with ThreadPoolExecutor() as side:
        first = side.submit(host.take, releases.kept("99.1.0"), "--quiet", "--no-first-job")
        try:
            wait_until(held.exists)
            before = everything(base(host))
            for other in (
                host.take(releases.kept("99.2.0"), "--quiet"),
                host.installed("--back"),
                host.installed("--uninstall"),
            ):
                assert (other.returncode, "another install.sh is at work here" in other.stderr) == (1, True), other
            assert everything(base(host)) == before
        finally:
            gate.touch()
        done = first.result()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert links(host) == ("99.1.0", "99.0.0")
    assert host.jobctl("version").stdout.split()[-1] == "99.1.0"


@pytest.mark.skipif(not IS_ROOT, reason="only root installs for the whole host")
def test_roots_units_are_those_of_the_version_in_use_and_a_package_is_not_installed_over(host: Host) -> None:
    host.stand_in("systemctl", "#!/bin/sh\nexit 0\n")
    (host.root / "run/systemd/system").mkdir(parents=True)
    (host.root / "etc/group").write_text("root:x:0:\njobctl:x:900:\ncrontab:x:901:\n")
    packaged = host.stand_in("dpkg-query", "#!/bin/sh\necho 'install ok installed'\n")
    refused = host.take(releases.kept("99.0.0"), "--no-start", as_root=True)
    assert (refused.returncode, "the Debian package jobctl is installed" in refused.stderr) == (2, True)
    packaged.unlink()

    def version_of_units() -> tuple[str, bool]:
        units = host.root / "etc/systemd/system"
        daemon, runner = (units / "jobd.service").read_text(), (units / "jobctl-runner@.service").read_text()
        version = daemon.partition("Wants=jobctl-runner@")[2].partition("-")[0]
        return version, f"ExecStart=/opt/jobctl/{version}/bin/python3 -I -m jobctl_daemon.runner" in runner

    for words, version in (
        ([str(releases.kept("99.0.0") / "install.sh")], "99.0.0"),
        ([str(releases.kept("99.1.0") / "install.sh")], "99.1.0"),
        ([str(host.root / "opt/jobctl/install.sh"), "--back"], "99.0.0"),
    ):
        done = host.run(*words, "--no-start", as_root=True)
        assert done.returncode == 0, done.stderr
        assert version_of_units() == (version, True)
        assert (host.root / "opt/jobctl/current").readlink() == Path(version)
    done = host.run(str(host.root / "opt/jobctl/install.sh"), "--uninstall", "--purge", as_root=True)
    assert done.returncode == 0, done.stderr
    assert not (host.root / "opt/jobctl").exists()
