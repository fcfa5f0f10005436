"""A host's crontabs over the end of a daemon, of a file system, of the kernel's watches; taking them over and back."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kit.accounts import Account, accounts, needs_root
from kit.crontab_host import CrontabHost, commands, four_lines, live_host, never_soon, soon, table
from kit.daemon import RealDaemon
from kit.saves import SAVES, checked_out
from kit.watches import no_watches_left

pytestmark = [needs_root, pytest.mark.long]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CrontabHost, RealDaemon]]:
    with live_host(tmp_path_factory.mktemp("live")) as made:
        yield made


@pytest.fixture
def host(whole: tuple[CrontabHost, RealDaemon]) -> Iterator[CrontabHost]:
    """Without a table, before and after."""
    yield whole[0]
    whole[0].clear(whole[1])


@pytest.fixture
def daemon(whole: tuple[CrontabHost, RealDaemon]) -> RealDaemon:
    return whole[1]


def test_what_changed_while_no_daemon_ran_is_found_at_its_start(daemon: RealDaemon, host: CrontabHost) -> None:
    path, other = host.site("site", four_lines("echo a", "echo b")), host.site("other", four_lines("echo c"))
    before = soon(daemon, lambda: commands(daemon) if len(commands(daemon)) == 3 else None)
    daemon.stop()
    host.save(path, four_lines("echo b", "echo d"))
    other.unlink()
    daemon.start()
    after = commands(daemon)
    assert after.keys() == {"echo b", "echo d"}
    same = ("id", "rev", "version", "next_run_at", "created_at", "name")
    assert [after["echo b"][key] for key in same] == [before["echo b"][key] for key in same]
    daemon.restart()
    assert {name: job["id"] for name, job in commands(daemon).items()} == {
        name: job["id"] for name, job in after.items()
    }


def test_reboot_lines_run_once_a_boot_and_not_when_the_file_is_edited(daemon: RealDaemon, host: CrontabHost) -> None:
    path = host.user("root", "@reboot echo boot\n")
    soon(daemon, lambda: commands(daemon).get("echo boot"))
    host.overwrite(path, "X=1\n@reboot echo boot\n@reboot echo other\n")
    soon(daemon, lambda: commands(daemon).get("echo other"))
    daemon.restart()
    assert [daemon.runs_of(job["name"]) for job in commands(daemon).values()] == [[], []]


@pytest.mark.case("F112")
def test_a_file_that_cannot_be_read_any_more_keeps_its_jobs(daemon: RealDaemon, host: CrontabHost) -> None:
    path = host.user("root", f"{never_soon()} * * * echo a\n")
    before = soon(daemon, lambda: commands(daemon).get("echo a"))
    path.chmod(0o000)
    told = soon(daemon, lambda: next((one for one in [table(daemon, path)] if one and one["problems"]), None), 8.0)
    assert told["problems"][0]["reason"].endswith("its jobs stay as they are")
    assert commands(daemon)["echo a"] == before
    daemon.restart()
    assert commands(daemon)["echo a"]["id"] == before["id"]
    assert table(daemon, path)["jobs"] == 1  # type: ignore[index]
    path.chmod(0o600)
    daemon.reload()
    soon(daemon, lambda: table(daemon, path)["problems"] == [])  # type: ignore[index]


@pytest.mark.case("F112")
def test_a_folder_that_is_gone_or_another_one_takes_no_jobs_with_it(daemon: RealDaemon, host: CrontabHost) -> None:
    path = host.site("site", four_lines("echo a"))
    before = soon(daemon, lambda: commands(daemon).get("echo a"))
    away = host.root / "away"
    os.rename(host.cron_d, away)
    soon(daemon, lambda: "reload the daemon" in table(daemon, path)["problems"][0]["reason"]  # type: ignore[index]
         if table(daemon, path)["problems"] else None)  # type: ignore[index]  # fmt: skip
    host.cron_d.mkdir()  # as a file system that is not mounted
    soon(daemon, lambda: "another folder than before" in table(daemon, path)["problems"][0]["reason"])  # type: ignore[index]
    daemon.restart()
    assert commands(daemon)["echo a"] == before
    host.cron_d.rmdir()
    os.rename(away, host.cron_d)
    soon(daemon, lambda: table(daemon, path)["problems"] == [])  # type: ignore[index]
    os.rename(host.cron_d, away)
    host.cron_d.mkdir()
    daemon.reload()
    soon(daemon, lambda: not commands(daemon), 4.0)
    host.site("site", four_lines("echo b"))
    soon(daemon, lambda: commands(daemon))
    os.rename(host.cron_d, host.root / "gone")
    try:
        daemon.reload()
        soon(daemon, lambda: not commands(daemon), 4.0)
    finally:
        os.rename(host.root / "gone", host.cron_d)


def test_a_host_is_taken_over_at_an_instant_and_let_go(tmp_path: Path, host: CrontabHost) -> None:
    path = host.site("site", "* * * * * root echo tick\n" + four_lines("echo a"))
    daemon = RealDaemon(tmp_path / "h").settings(host.settings(crontabs="auto"))
    try:
        daemon.start()
        assert daemon.client.crontabs()["live"] is False
        assert not commands(daemon)
        now_s = time.time()
        minute_s = now_s // 60 * 60
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(minute_s - 1))
        answer = daemon.client.set_crontabs_live(on=True, since=since)
        assert answer["live"] is True
        assert [one["jobs"] for one in answer["items"]] == [2]
        if now_s - minute_s < 50:  # the minute's start was cron's to make, and cron is gone: it is made up
            tick = commands(daemon)["echo tick"]
            run = daemon.until(lambda: next(iter(daemon.runs_of(tick["name"])), None))
            assert run["scheduled_at"] == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(minute_s))
        daemon.restart()
        assert daemon.client.crontabs()["live"] is True
        assert commands(daemon).keys() == {"echo tick", "echo a"}
        assert daemon.client.set_crontabs_live(on=False)["items"] == []
        assert not commands(daemon)
        assert path.exists()
    finally:
        daemon.close()


@contextlib.contextmanager
def users_daemon(who: Account) -> Iterator[RealDaemon]:
    """A daemon of an ordinary user, in his home; not started yet."""
    home = who.home / "trial"
    daemon = RealDaemon(home)
    daemon.within = who.command
    daemon.environ = {**who.environ, "JOBCTL_HOME": str(home), "PATH": os.environ["PATH"]}
    who.run("mkdir", "-p", str(home))
    try:
        yield daemon
    finally:
        daemon.close()


def test_a_user_who_runs_a_daemon_has_a_table_of_his_own() -> None:
    with accounts() as made:
        (who,) = made.users(1)
        with users_daemon(who) as daemon:
            daemon.start()
            spool = daemon.home / "state" / "crontabs"
            assert daemon.client.crontabs()["live"] is True
            line = f"{never_soon()} * * * echo mine\n"
            who.run("sh", "-c", f"umask 077; mkdir -p {spool}; cat > {spool / who.name}", input=line)
            job = soon(daemon, lambda: commands(daemon).get("echo mine"))
            assert (job["owner"], job["user"]) == (who.name, None)


# ── whatever an editor does ──────────────────────────────────────────────


@pytest.mark.case("F110")
@pytest.mark.parametrize("save", SAVES)
def test_every_save_of_a_table_is_active_soon_once_and_never_without_its_job(
    daemon: RealDaemon, host: CrontabHost, save: Callable[[Path, str], None]
) -> None:
    at = f"{never_soon()} * * * root"
    path = host.site("site", f"{at} run zero\n")
    job = soon(daemon, lambda: commands(daemon).get("run zero"))
    for number in range(5):
        save(path, f"{at} run n{number}\n")
        found = soon(daemon, lambda number=number: commands(daemon).get(f"run n{number}"), 3.0)  # type: ignore[misc]
        assert found["id"] == job["id"], "it was without its job in between"
        if save is not checked_out:  # which is several saves, and git takes its time
            assert found["version"] == job["version"] + number + 1, "it was read in between"
    assert commands(daemon).keys() == {"run n4"}


# ── without the kernel's help ──────────────────────────────────────────────


@pytest.mark.case("F111")
def test_without_watches_it_starts_says_so_and_finds_changes_by_looking() -> None:
    with accounts() as made:
        (who,) = made.users(1)
        with users_daemon(who) as daemon, no_watches_left(who):
            daemon.start()
            spool = daemon.home / "state" / "crontabs"

            def polling() -> str | None:
                why: str | None = daemon.client.crontabs()["watch"]["why"]
                return why

            why = soon(daemon, polling)
            assert "fs.inotify.max_user_instances" in why
            assert any("followed by polling" in text for text in daemon.client.status()["warnings"])
            assert daemon.client.crontabs()["watch"]["how"] == "polling"
            for number in range(3):
                who.run("sh", "-c", f"umask 077; mkdir -p {spool}; cat > {spool / who.name}",
                        input=f"{never_soon()} * * * echo {number}\n")  # fmt: skip
                soon(daemon, lambda number=number: commands(daemon).get(f"echo {number}"), 5.0)  # type: ignore[misc]
            who.run("rm", str(spool / who.name))
            assert daemon.process is not None
            daemon.process.send_signal(signal.SIGHUP)
            soon(daemon, lambda: not commands(daemon), 5.0)
