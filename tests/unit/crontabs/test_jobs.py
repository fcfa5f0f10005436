"""What a line becomes: the draft, its name, and why some lines stay with cron."""

import json
import subprocess
from typing import Any

import pytest

from jobctl.crontabs import read
from jobctl.crontabs.jobs import Origin, Planned, already, digest_of_source, plan
from jobctl.crontabs.naming import name_for, unique
from jobctl.crontabs.shell import command_of

ALICE = Origin("/home/alice/jobs", "alice")


def planned(data: bytes, *, origin: Origin = ALICE, system: bool = False, **options: Any) -> list[Planned]:
    return plan(read(data, system=system), origin, **options)


def draft(data: bytes, **options: Any) -> dict[str, Any]:
    (one,) = planned(data, **options)
    assert one.draft is not None, one.problem
    json.dumps(one.draft, ensure_ascii=False).encode()
    return one.draft


def test_a_draft_has_the_defaults_of_cron() -> None:
    made = draft(b"MAILTO=me\n0 3 * * * /opt/backup.sh\n")
    assert digest_of_source(made.pop("source")) is not None
    assert made == {
        "name": "backup",
        "schedule": {"cron": "0 3 * * *"},
        "target": {"shell": "/opt/backup.sh"},
        "env": {"PATH": "/usr/bin:/bin", "MAILTO": "me"},
        "mail": {"to": "me"},
        "login_env": True,
        "overlap": "allow",
        "misfire": "skip",
        "misfire_within": 60,
        "retry": {"max": 0, "lost": 0},
        "on_failure": "record",
        "tags": ["crontab"],
    }


def test_the_environment_decides_shell_directory_and_path() -> None:
    made = draft(b"SHELL=/bin/bash\nHOME=/srv\nPATH=/opt:/bin\nLOGNAME=x\n'a b'=c\n@reboot a &>> b\n")
    assert made["target"] == {"command": ["/bin/bash", "-c", "a &>> b"]}
    assert made["cwd"] == "/srv"
    assert made["env"] == {"SHELL": "/bin/bash", "HOME": "/srv", "PATH": "/opt:/bin"}
    assert made["schedule"] == {"on_boot": True}


@pytest.mark.parametrize(
    ("mailto", "to"),
    [
        (b"", "alice"),
        (b"MAILTO=bob\n", "bob"),
        (b"MAILTO='bob, ops@example.org'\n", "bob, ops@example.org"),
        (b'MAILTO=""\n', None),
        (b"MAILTO=' '\n", None),
        (b"MAILTO=-oQ/tmp/x\n", None),
        (b"MAILTO='|/bin/sh'\n", None),
    ],
)
def test_mail_goes_where_cron_would_send_it_and_nowhere_else(mailto: bytes, to: str | None) -> None:
    assert draft(mailto + b"@daily x\n").get("mail") == (None if to is None else {"to": to})


def test_each_line_has_the_mailto_above_it_and_without_one_whose_line_it_is() -> None:
    found = planned(b"@daily bob a\nMAILTO=ops\n@daily bob b\n", system=True, origin=Origin("/etc/crontab", "root"))
    assert [one.draft["mail"]["to"] for one in found if one.draft] == ["bob", "ops"]


def test_input_ends_with_a_newline_as_cron_sends_it() -> None:
    assert draft(b"@daily cat%a%b\n")["stdin"] == "a\nb\n"
    assert "stdin" not in draft(b"@daily cat%\n")


def test_zones() -> None:
    assert draft(b"CRON_TZ=Asia/Tokyo\n@daily x\n")["schedule"]["timezone"] == "Asia/Tokyo"
    assert draft(b"@daily x\n", tz="Europe/Berlin")["schedule"]["timezone"] == "Europe/Berlin"
    (one,) = planned(b"CRON_TZ=Mars/Base\n@daily x\n")
    assert one.draft is None
    assert "Mars/Base" in str(one.problem)


def test_users() -> None:
    assert draft(b"@daily bob x\n", system=True)["user"] == "bob"
    assert "user" not in draft(b"@daily alice x\n", system=True)
    assert draft(b"@daily x\n", origin=Origin("/spool/bob", "root", "bob"))["user"] == "bob"


def test_only_root_imports_lines_of_others() -> None:
    lines = b"@daily bob x\n@daily alice y\n"
    problems = [one.problem for one in planned(lines, origin=Origin("/t", "alice", root=False), system=True)]
    assert problems == ["it runs as bob: only root can import it", None]


def test_bytes_that_are_not_utf8_reach_the_shell_as_they_are() -> None:
    line = rb"@daily printf '%s\n' '\\a \xc3( \% 100'" + b" '\xff\xc3('\n"
    target = draft(line.replace(b"%s", b"\\%s"))["target"]
    want = subprocess.run(
        [b"/bin/sh", b"-c", rb"printf '%s\n' '\a \xc3( % 100'" + b" '\xff\xc3('"], capture_output=True, check=True
    )
    got = subprocess.run(target["command"], capture_output=True, check=True)
    assert got.stdout == want.stdout
    assert b"\xff\xc3(" in got.stdout
    assert command_of(target, {}) == "printf '%s\\n' '\\a \\xc3( % 100' '\udcff\udcc3('"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"0 22-2 * * * x\n", "never matches"),
        (b"@reboot /x/jobd # jobctl: starts the daemon\n", "stays with cron"),
        (b"HOME=here\n@daily x\n", "no absolute path"),
        (b"SHELL=''\n@daily x\n", "SHELL is empty"),
        (b"A=\xff\n@daily x\n", "the variable A"),
        (b"@daily x%\xff\n", "its input"),
        (b"@daily x\0@daily y\n", "NUL"),
    ],
)
def test_what_stays_with_cron(data: bytes, words: str) -> None:
    one = planned(data)[0]
    assert one.draft is None
    assert words in str(one.problem)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/opt/backup.sh --full", "backup"),
        ("[ -x /opt/x ] && /opt/clean master", "clean"),
        ("test -e /run/flag || SERVICE_MODE=1 /opt/bin/scrub_cron", "scrub_cron"),
        ("cd /srv/app && php artisan schedule:run >> /dev/null 2>&1", "artisan"),
        ("nice -n 19 $HOME/obs/observe.py &>> log", "observe"),
        ("python3 $HOME/g/back.py vendors", "back"),
        ("if [ -x /opt/bk ]; then /opt/bk; fi", "bk"),
        ("sh -c '. $HOME/.xenv; notify'", "notify"),
        ("$(echo hi)", "echo"),
        ("123 456", "line-7"),
        ("", "line-7"),
        ("\x1b]52;c;x\x07", "c"),
        ("é", "line-7"),
    ],
)
def test_names(command: str, name: str) -> None:
    assert name_for(command, "line-7") == name


def test_names_are_unique() -> None:
    names = [one.name for one in planned(b"@daily a\n@weekly a\n@hourly a\n", taken={"p-a"}, prefix="p-")]
    assert names == ["p-a-2", "p-a-3", "p-a-4"]


def test_a_line_imported_before_is_known_by_what_it_says() -> None:
    first = planned(b"# x\n@daily a\n@daily a\n@daily b\n")
    jobs = [{"name": f"renamed-{at}", "source": one.draft["source"]} for at, one in enumerate(first[:2]) if one.draft]
    again = planned(b"@daily a\n@daily b\n@daily a\n@daily a\n")
    assert {at: job["name"] for at, job in already(again, jobs).items()} == {0: "renamed-0", 2: "renamed-1"}
    assert already(again, [{"name": "x", "source": "api"}, {"name": "y", "source": "crontab:/etc"}]) == {}


def test_sources_fit_the_daemon() -> None:
    source = draft(b"@daily a\n", origin=Origin("/x\n\x1b" + "y" * 900, "alice"))["source"]
    assert len(source) <= 508
    assert source.isprintable()


def test_notes_warn() -> None:
    notes = [note for one in planned(b"0 0 31 2 * a\r\n@daily a %b\\\n@daily a \\\n@daily\n") for note in one.notes]
    for words in ("never comes", "carriage return", "bare %", "backslash", "is empty"):
        assert any(words in note for note in notes), words


def test_a_name_gets_the_next_free_number_also_where_thousands_are_taken() -> None:
    taken: set[str] = set()
    for _ in range(10_000):
        taken.add(unique("a", taken))
    assert taken == {"a", *(f"a-{number}" for number in range(2, 10_001))}
    assert unique("a", {"a", "a-2", "a-4"}) == "a-5"
