"""Jobs that files own, and files of which something was refused, as people read of them."""

from unit.cli.conftest import Cli
from unit.client.fake_daemon import FakeDaemon, job

SITE = "/etc/cron.d/site"


def file(
    path: str = SITE, kind: str = "crontab", jobs: int = 2, *problems: tuple[int | None, str]
) -> dict[str, object]:
    listed = [{"line": line, "column": None, "text": "text", "reason": reason} for line, reason in problems]
    return {"path": path, "kind": kind, "jobs": jobs, "loaded_at": "2026-11-29T01:12:41Z", "problems": listed}


def test_status_counts_the_files_and_names_what_was_refused(cli: Cli, daemon: FakeDaemon) -> None:
    many = [(number, f"why {number}") for number in range(1, 9)]
    daemon.status["tables"] = [
        file(SITE, "crontab", 2, (3, "bad minute\x1b[31m")),
        file("/spool/ada", "crontab", 1, (None, "its mode is 0644")),
        file("/etc/jobctl/jobs.d/a.toml", "jobs", 1),
        file("/spool/bob", "crontab", 5, *many),
    ]
    shown = cli("status").out
    assert "files   3 crontabs, 8 jobs; 1 file of jobs, 1 job\n" in shown
    assert f"trouble {SITE}, line 3: bad minute\\x1b[31m\n" in shown
    assert "trouble /spool/ada: its mode is 0644\n" in shown
    assert "trouble /spool/bob, line 5: why 5\n" in shown
    assert "trouble /spool/bob: 3 more: jobctl status --json\n" in shown
    assert "why 6" not in shown


def test_a_monitor_hears_of_each_file_in_one_line(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.status["tables"] = [file(SITE, "crontab", 2, (3, "bad minute"), (9, "no user")), file("/spool/ada")]
    check = cli("status", "--check")
    assert (check.code, check.out) == (1, f"{SITE}, line 3: bad minute, and 1 more\n")


def test_a_sentence_of_which_more_follows_has_no_full_stop(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.status["tables"] = [file(SITE, "crontab", 2, (3, "Debian refuses it."), (9, "no user"))]
    assert cli("status", "--check").out == f"{SITE}, line 3: Debian refuses it, and 1 more\n"


def test_a_job_is_shown_with_the_place_that_it_is_changed_at(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs = [
        job(1, "line", source=f"crontab:abc:3:{SITE}", declared=SITE),
        job(2, "entry", source="file:entry:/jobs.d/a.toml", declared="/jobs.d/a.toml"),
        job(3, "hand", source="cli", declared=None),
    ]
    assert f"from       {SITE}, line 3: it is changed there\n" in cli("show", "line").out
    assert "from       /jobs.d/a.toml: it is changed there\n" in cli("show", "entry").out
    assert "it is changed there" not in cli("show", "hand").out
    assert "told       nobody\n" in cli("show", "line").out
    assert 'told       nobody: give notify = ["mail"] in its file\n' in cli("show", "entry").out
    wide = cli("ls", "-o", "wide").out
    assert all(text in wide for text in (f"{SITE}, line 3", "/jobs.d/a.toml", "cli"))
