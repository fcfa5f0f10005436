"""Dead letters: seen, replayed and discarded, one by one and many at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobctl.cli import dead as dead_letters
from jobctl.cli import dlq_replay  # noqa: F401  before its limit is made smaller
from jobctl.cli.edited_work import as_text, changes
from jobctl.errors import InvalidInput
from unit.cli.conftest import Cli
from unit.client.fake_daemon import Answer, FakeDaemon, attempt, dead, job, problem, work

REPLAY = "/v1/dead/replay"


@pytest.fixture
def letters(daemon: FakeDaemon) -> FakeDaemon:
    """Three of backup, two of which are alike, and one of sync."""
    backup, sync = daemon.jobs[:2]
    daemon.runs += [
        dead(94, sync, error=None, fingerprint="beef", reason="it ran into its timeout", **{"class": "timed_out"}),
        dead(92, backup, finished_at="2026-11-29T01:00:00Z", replays=1),
        dead(91, backup, finished_at="2026-11-28T01:00:00Z"),
        dead(90, backup, error="no route\nto host", fingerprint="cafe"),
    ]
    return daemon


# ── ls ──────────────────────────────────────────────


def test_people_see_groups(cli: Cli, letters: FakeDaemon) -> None:
    assert cli("dlq", "ls").out.splitlines() == [
        "COUNT  JOBS    FAILED     ERROR         LAST        REPLAYS  NEWEST  FINGERPRINT",
        "    1  sync    timed out  -             11m59s ago        0      94  beef",
        "    2  backup  exit 1     disk is full  1h12m ago         1      92  3f2a91c07d18",
        "    1  backup  exit 1     no route      11m59s ago        0      90  cafe",
    ]
    wide = cli("dlq", "ls", "-o", "wide").out
    assert "SINCE" in wide
    assert "exit 1; out of retries" in wide
    footer = cli("dlq", "ls", terminal=True, COLUMNS="300").err
    assert "4 dead letters in 3 groups; one: jobctl dlq show 94" in footer


def test_what_could_not_start_has_printed_nothing_and_tells_the_reason(cli: Cli, daemon: FakeDaemon) -> None:
    why = "EACCES: program /srv/prune: Permission denied"
    silent = {"class": "spawn_error", "outcome": "spawn_error", "error": None, "exit_code": None, "fingerprint": "face"}
    daemon.runs.append(dead(90, daemon.jobs[0], reason=f"it could not be started: {why}", **silent))
    for listing in (("dlq", "ls"), ("dlq", "ls", "--runs")):
        shown = cli(*listing).out
        assert "could not start  " in shown
        assert "program /srv/prune: Permission denied  " in shown
        assert "could not be started" not in shown


def test_each_of_them(cli: Cli, letters: FakeDaemon) -> None:
    shown = cli("dlq", "ls", "--runs").out.splitlines()
    assert shown[0].split() == ["RUN", "JOB", "DIED", "FAILED", "ERROR", "ATTEMPTS", "REPLAYS"]
    assert shown[2].split()[-3:] == ["full", "4", "1"]
    assert cli("dlq", "ls", "--all").out == cli("dlq", "ls", "--runs").out
    assert "jobctl dlq replay 94" in cli("dlq", "ls", "--runs", terminal=True).err


def test_programs_get_each_of_them_or_groups(cli: Cli, letters: FakeDaemon) -> None:
    assert [run["id"] for run in cli("dlq", "ls", "--json").json()["items"]] == [94, 92, 91, 90]
    assert cli("dlq", "ls", "-o", "name").out == "94\n92\n91\n90\n"
    assert cli("dlq", "ls", "-o", "csv").out.startswith("id,job,class")
    groups = cli("dlq", "ls", "--groups", "--json").json()["items"]
    assert [group["count"] for group in groups] == [1, 2, 1]
    assert cli("dlq", "ls", "--groups", "-o", "name").out == "beef\n3f2a91c07d18\ncafe\n"


def test_filters_travel(cli: Cli, letters: FakeDaemon) -> None:
    cli("dlq", "ls", "backup", "--class", "exit_code", "--fingerprint", "cafe", "-q", "ba", "--since", "2h",
        "--until", "1h")  # fmt: skip
    query = letters.asked[-1].query
    assert query == {"job": "1", "class": "exit_code", "fingerprint": "cafe", "q": "ba", "limit": "1000",
                     "since": "2026-11-29T00:12:41Z", "until": "2026-11-29T01:12:41Z"}  # fmt: skip


def test_nothing_is_said_in_words(cli: Cli, daemon: FakeDaemon) -> None:
    for argv, said in ((("dlq", "ls"), "no dead letters\n"), (("dlq", "ls", "-q", "x"), "no dead letter matches\n"),
                       (("dlq", "ls", "--runs"), "no dead letters\n")):  # fmt: skip
        result = cli(*argv)
        assert (result.code, result.out, result.err) == (0, "", said)


# ── show ──────────────────────────────────────────────


def test_all_that_is_needed_to_decide(cli: Cli, letters: FakeDaemon) -> None:
    letters.logs[92] = b"".join(b"line %d\n" % number for number in range(50)) + b"\x1b]52;c;x\x07disk is full\n"
    tries = [
        attempt(letters.find_run("92") or {}, attempt=1, ended_at="2026-11-29T00:59:00Z"),
        attempt(letters.find_run("92") or {}, attempt=2, started_at="2026-11-29T00:59:10Z",
                ended_at="2026-11-29T01:00:00Z"),
    ]  # fmt: skip
    letters.override("GET", "/v1/runs/92/attempts", Answer(200, {"schema": 1, "items": tries, "next": None}))
    shown = cli("dlq", "show", "92").out
    assert shown.startswith("run 92 of backup   DEAD: exit 1\n")
    for text in ("died       02:00 CET, 1h12m ago", "reason     exit 1; out of retries", "class      exit_code",
                 "error      disk is full", "replays    1", "fence 9", "--fingerprint 3f2a91c07d18",
                 "attempt 2  exit 1 after 50s, 10s after attempt 1", "    line 49\n    disk is full\n",
                 "jobctl dlq replay 92 --edit", "with what backup is now", "jobctl dlq discard 92"):  # fmt: skip
        assert text in shown
    assert "line 40\n" not in shown
    found = cli("dlq", "show", "92", "--json").json()
    assert (found["id"], len(found["attempts"])) == (92, 2)


def test_what_it_ran_and_that_it_was_edited_or_put_back(cli: Cli, letters: FakeDaemon) -> None:
    shown = cli("dlq", "show", "92").out
    assert "command    /usr/bin/true\n" in shown
    assert not any(word in shown for word in ("\n  edited", "\n  put back", "\n  input"))
    own = {"target": {"shell": "exit 3"}, "stdin": "two\nlines", "env": {"A": "1"}, "cwd": "/srv", "edited": True}
    letters.works[92] = work(letters.jobs[0], **own)
    letters.find_run("92").update(put_back={"at": "2026-11-29T02:11:00Z", "run": 90}, edited=True)  # type: ignore[union-attr]
    for argv in (("dlq", "show", "92"), ("show", "92", "--run")):
        shown = cli(*argv).out
        for text in ("edited     for this run alone; version 1 of its job is another one\n", "command    exit 3\n",
                     'input      "two\\nlines"\n', "directory  /srv\n", "env        A=1\n",
                     "put back   03:11 CET, 1m41s ago: run 90 died again, before its turn in the replay"):  # fmt: skip
            assert text in shown
        found = cli(*argv, "--json").json()
        assert (found["edited"], found["work"]["target"]) == (True, {"shell": "exit 3"})
    letters.works[92] = work(letters.jobs[0], payload_ref="/srv/in")
    assert "input      the file /srv/in\n" in cli("dlq", "show", "92").out
    letters.works[92] = work(letters.jobs[0], stdin="x" * 300)
    assert 'x" … 300 B in all\n' in cli("dlq", "show", "92").out
    letters.override("GET", "/v1/runs/92/work", problem(404, "not_found", "no run 92"))
    assert "command " not in cli("dlq", "show", "92").out


def test_a_job_stands_for_its_newest_dead_letter(cli: Cli, letters: FakeDaemon) -> None:
    assert cli("dlq", "show", "backup").out.startswith("run 92 of backup   DEAD")
    refused = cli("dlq", "show", "hand")
    assert (refused.code, "hand has no dead letters" in refused.err) == (3, True)
    unknown = cli("dlq", "show", "bakcup")
    assert (unknown.code, "closest: backup" in unknown.err) == (3, True)
    letters.runs.append(dead(80, job(9, "gone")))
    assert cli("dlq", "show", "gone").out.startswith("run 80 of gone   DEAD")


def test_a_log_that_is_gone_is_no_error(cli: Cli, letters: FakeDaemon) -> None:
    letters.override("GET", "/v1/runs/92/log", problem(404, "not_found", "the log of run 92 is no longer kept"))
    shown = cli("dlq", "show", "92")
    assert (shown.code, "log        the log of run 92 is no longer kept" in shown.out) == (0, True)
    assert "it printed nothing" in cli("dlq", "show", "91").out


# ── replay ──────────────────────────────────────────────


def test_one_is_replayed_without_a_question(cli: Cli, letters: FakeDaemon) -> None:
    result = cli("dlq", "replay", "92")
    assert (result.code, result.out) == (0, "replayed run 92, under its key\n")
    assert letters.posted(REPLAY) == [{"ids": [92]}]


def test_how_it_is_replayed_travels(cli: Cli, letters: FakeDaemon) -> None:
    cli("dlq", "replay", "92", "91", "--pace", "5s", "--stop-on-failure", "--current", "--force", "--limit", "1")
    assert letters.posted(REPLAY) == [
        {"ids": [92, 91], "limit": 1, "pace": "5s", "stop_on_failure": True, "current": True, "force": True}
    ]


def test_many_are_asked_about_and_named_as_they_were_counted(cli: Cli, letters: FakeDaemon) -> None:
    refused = cli("dlq", "replay", "backup")
    assert (refused.code, "this replays 3 dead letters, and there is nobody to ask" in refused.err) == (2, True)
    no = cli("dlq", "replay", "backup", terminal=True, stdin="n\n")
    assert (no.code, "replay 3 dead letters? [y/N]" in no.err, "nothing was replayed" in no.err) == (5, True, True)
    assert letters.posted(REPLAY) == []
    yes = cli("dlq", "replay", "backup", terminal=True, stdin="y\n", NO_COLOR="1")
    assert (yes.code, "replayed 3 dead letters: 90 91 92" in yes.out) == (0, True)
    assert letters.posted(REPLAY) == [{"ids": [90, 91, 92]}]


def test_filters_and_all_of_them(cli: Cli, letters: FakeDaemon) -> None:
    assert cli("dlq", "replay", "--class", "timed_out", "--yes").out == "replayed run 94, under its key\n"
    assert cli("dlq", "replay", "--all", "--limit", "2", "--yes").out == "replayed 2 dead letters: 90 91\n"
    assert cli("dlq", "replay", "backup", "--fingerprint", "3f2a91c07d18", "--yes", "-o", "name").out == "92\n"


def test_a_filter_that_matches_nothing_is_no_error(cli: Cli, letters: FakeDaemon) -> None:
    for verb in ("replay", "discard"):
        result = cli("dlq", verb, "--class", "oom")
        assert (result.code, result.out, result.err) == (0, "", "no dead letter matches\n")
    assert cli("dlq", "replay", "--class", "oom", "--json").json() == {"batch": None, "replayed": [], "skipped": []}
    assert cli("dlq", "discard", "--class", "oom", "--json").json() == {"discarded": []}


def test_the_same_key_does_it_once_and_answers_the_same(cli: Cli, letters: FakeDaemon) -> None:
    first = cli("dlq", "replay", "backup", "--key", "repair-1", "--yes")
    again = cli("dlq", "replay", "backup", "--key", "repair-1", "--yes")
    assert first.out == again.out == "replayed 3 dead letters: 90 91 92\n"
    assert letters.posted(REPLAY) == [{"job": "1"}, {"job": "1"}]
    assert cli("dlq", "replay", "--all", "--key", "repair-2", "--yes", "--json").json()["replayed"] == [94]
    assert letters.posted(REPLAY)[-1] == {"all": True}


def test_more_than_fit_into_a_request(cli: Cli, letters: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "AT_ONCE_MAX", 2)
    paced = cli("dlq", "replay", "backup", "--pace", "1s", "--yes")
    assert (paced.code, "say --limit" in paced.err) == (2, True)
    assert cli("dlq", "replay", "backup", "--yes", "--json").json()["replayed"] == [90, 91, 92]
    assert [body["ids"] for body in letters.posted(REPLAY)] == [[90, 91], [92]]


def test_some_that_are_none(cli: Cli, letters: FakeDaemon) -> None:
    result = cli("dlq", "replay", "92", "102")
    assert (result.code, result.out) == (7, "replayed run 92, under its key\n")
    assert "failed: run 102 was not replayed: it is no dead letter" in result.err


def test_what_died_again_needs_force(cli: Cli, letters: FakeDaemon) -> None:
    letters.override("POST", REPLAY, problem(409, "conflict", "they died again", "mend the cause, or use force"))
    refused = cli("dlq", "replay", "backup", "--yes")
    assert (refused.code, refused.err.endswith("or say --force\n")) == (5, True)


def test_waiting_ends_as_the_first_that_failed(cli: Cli, letters: FakeDaemon) -> None:
    letters.override("GET", "/v1/runs/90", Answer(200, dead(90, letters.jobs[0], state="succeeded")))
    letters.override("GET", "/v1/runs/91", Answer(200, dead(91, letters.jobs[0], exit_code=9)))
    result = cli("dlq", "replay", "90", "91", "--wait")
    assert result.code == 9
    assert result.err.splitlines() == [
        "run 90 of backup: ok after 41s", "run 91 of backup: dead: exit 9 after 41s", "see: jobctl dlq show 91",
    ]  # fmt: skip


def test_what_was_put_back_is_counted_not_told_as_failures(cli: Cli, letters: FakeDaemon) -> None:
    back = {"put_back": {"at": "2026-11-29T02:11:00Z", "run": 90}}
    for number, changed in ((90, {"exit_code": 9}), (91, back), (92, back)):
        letters.override("GET", f"/v1/runs/{number}", Answer(200, dead(number, letters.jobs[0], **changed)))
    result = cli("dlq", "replay", "90", "91", "92", "--stop-on-failure", "--wait")
    assert result.code == 9
    assert result.err.splitlines() == [
        "run 90 of backup: dead: exit 9 after 41s", "2 dead letters put back: run 90 died again",
        "see: jobctl dlq show 90",
    ]  # fmt: skip


# ── replay of a job that was edited since ──────────────────────────────────────────────

OLDER = "as version 1; backup is version 2 now: --current takes that"


def test_at_the_question_it_is_said_that_the_job_was_edited_since(cli: Cli, letters: FakeDaemon) -> None:
    letters.jobs[0]["version"] = 2
    asked = cli("dlq", "replay", "backup", terminal=True, stdin="y\n", NO_COLOR="1", COLUMNS="200")
    assert f"{OLDER}\nreplay 3 dead letters? [y/N]\n" in asked.err
    assert asked.err.count(OLDER) == 1


@pytest.mark.parametrize("argv", [("backup", "--yes"), ("92",), ("backup", "--yes", "--key", "k")])
def test_without_a_question_it_is_said_afterwards(cli: Cli, letters: FakeDaemon, argv: tuple[str, ...]) -> None:
    letters.jobs[0]["version"] = 2
    assert cli("dlq", "replay", *argv).err == f"{OLDER}\n"


@pytest.mark.parametrize("option", ["--current", "--as-recorded", "--json"])
def test_who_chose_or_is_a_program_is_not_told(cli: Cli, letters: FakeDaemon, option: str) -> None:
    letters.jobs[0]["version"] = 2
    assert cli("dlq", "replay", "92", option).err == ""


def test_of_several_jobs_and_versions_it_is_said_how_many(cli: Cli, letters: FakeDaemon) -> None:
    letters.jobs[0]["version"] = 2
    said = "as recorded; the jobs of 3 of them have been edited since: --current takes what they are now\n"
    assert cli("dlq", "replay", "--all", "--yes").err == said


def test_a_job_that_is_gone_has_no_other_version(cli: Cli, letters: FakeDaemon) -> None:
    letters.override("GET", "/v1/jobs/1", problem(404, "not_found", "no job 1"))
    replayed = cli("dlq", "replay", "92")
    assert (replayed.code, replayed.err) == (0, "")


def test_a_retry_of_a_dead_letter_says_so_too(cli: Cli, letters: FakeDaemon) -> None:
    letters.jobs[0]["version"] = 2
    letters.override("POST", "/v1/runs/92/retry", Answer(200, {"how": "replayed", "run": letters.find_run("92")}))
    said = "as version 1; backup is version 2 now: jobctl dlq replay 92 --current takes that"
    assert cli("retry", "92").out == f"run 92 of backup is replayed, under its key, {said}\n"


def test_why_an_attempt_could_not_start_is_said_without_names_of_errno(cli: Cli, letters: FakeDaemon) -> None:
    failed = {"class": "spawn_error", "pid": None, "detail": "ENOENT: program ./x.sh: No such file or directory"}
    tries = [attempt(letters.find_run("92") or {}, **failed)]
    letters.override("GET", "/v1/runs/92/attempts", Answer(200, {"schema": 1, "items": tries, "next": None}))
    letters.find_run("92").update(reason=f"it could not be started: {failed['detail']}")  # type: ignore[union-attr]
    shown = cli("dlq", "show", "92").out
    assert shown.count("no such program: ./x.sh\n") == 2
    assert "ENOENT" not in shown


def test_what_is_recorded_and_what_is_of_now(cli: Cli, letters: FakeDaemon) -> None:
    assert "with what backup is now\n" in cli("dlq", "show", "92").out
    letters.jobs[0]["version"] = 2
    shown = cli("dlq", "show", "92").out
    assert "with what backup is now, version 2\n" in shown
    assert "retries, timeout, queue and all else are the job's of now\n" in shown


@pytest.mark.parametrize(
    ("error", "name"),
    [("sh: 1: TOKEN: parameter not set", "TOKEN"), ("/x.sh: line 3: A_1: unbound variable", "A_1"),
     ("TOKEN: parameter not set, they say", ""), ("disk is full", "")],
)  # fmt: skip
def test_a_variable_that_was_not_set_is_hinted_at(cli: Cli, letters: FakeDaemon, error: str, name: str) -> None:
    letters.find_run("92").update(error=error)  # type: ignore[union-attr]
    hint = f"jobs do not get the variables of your shell: jobctl edit backup --env {name}"
    assert (hint in cli("dlq", "show", "92").out) is bool(name)
    letters.jobs.clear()
    assert (hint in cli("why", "92").out) is bool(name)


# ── replay with other work ──────────────────────────────────────────────


def edited(cli: Cli, tmp_path: Path, script: str, *argv: str) -> Any:
    """With an editor that is a line of shell, of which $1 is the file."""
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return cli("dlq", "replay", *argv, "--edit", "--yes", EDITOR=str(program))


def test_other_work_for_this_once(cli: Cli, letters: FakeDaemon, tmp_path: Path) -> None:
    letters.jobs[0] |= {"env": {"A": "1", "B": "2"}, "cwd": "/srv"}
    script = """sed -i 's|/usr/bin/true|/bin/echo", "hi|; s|^A = .*|A = "9"|; s|stdin = ""|stdin = "text"|' "$1" """
    assert edited(cli, tmp_path, script, "92").code == 0
    assert letters.posted(REPLAY) == [
        {"ids": [92], "edit": {"target": {"command": ["/bin/echo", "hi"]}, "env": {"A": "9"}, "stdin": "text"}}
    ]


def test_nothing_changed_is_replayed_as_it_is(cli: Cli, letters: FakeDaemon, tmp_path: Path) -> None:
    result = edited(cli, tmp_path, "true", "92")
    assert (result.code, "nothing was changed; it is replayed as it is" in result.err) == (0, True)
    assert letters.posted(REPLAY) == [{"ids": [92]}]


def test_what_is_edited_is_what_ran_not_what_the_job_is_today(cli: Cli, letters: FakeDaemon, tmp_path: Path) -> None:
    letters.works[92] = work(letters.jobs[0], target={"shell": "exit 3"}, stdin="4711", cwd="/srv")
    letters.jobs[0] |= {"version": 5, "target": {"shell": "exit 0"}}
    seen = tmp_path / "seen"
    edited(cli, tmp_path, f"""cp "$1" {seen}; sed -i 's|exit 3|exit 4|' "$1" """, "92")
    text = seen.read_text()
    assert 'shell = "exit 3"\nstdin = "4711"\ncwd = "/srv"\n' in text
    assert "# Shown is what was recorded, version 1 of the job.\n" in text
    assert letters.posted(REPLAY) == [{"ids": [92], "edit": {"target": {"shell": "exit 4"}}}]


def test_with_current_it_is_what_the_job_is_today(cli: Cli, letters: FakeDaemon, tmp_path: Path) -> None:
    letters.works[92] = work(letters.jobs[0], target={"shell": "exit 3"})
    letters.jobs[0] |= {"version": 5, "target": {"shell": "exit 0"}}
    seen = tmp_path / "seen"
    edited(cli, tmp_path, f'cp "$1" {seen}', "92", "--current")
    assert 'shell = "exit 0"\n' in seen.read_text()
    assert "# Shown is version 5 of the job, of today; the run was recorded with 1.\n" in seen.read_text()
    assert letters.posted(REPLAY) == [{"ids": [92], "current": True}]


def test_what_was_edited_before_and_is_left_so_is_replayed_so(cli: Cli, letters: FakeDaemon, tmp_path: Path) -> None:
    """A plain replay would take the recorded definition, which nobody was shown."""
    letters.works[92] = work(letters.jobs[0], target={"shell": "exit 3"}, edited=True, payload_ref="/srv/in")
    seen = tmp_path / "seen"
    result = edited(cli, tmp_path, f'cp "$1" {seen}', "92")
    assert "# Shown is what it was replayed with before, edited from version 1 of the job.\n" in seen.read_text()
    assert "# It reads /srv/in; stdin takes its place when it is not empty.\n" in seen.read_text()
    assert "nothing was changed; it is replayed as it was edited before" in result.err
    assert letters.posted(REPLAY) == [{"ids": [92], "edit": {"target": {"shell": "exit 3"}}}]


def test_without_a_terminal_nothing_is_edited(cli: Cli, letters: FakeDaemon, tmp_path: Path) -> None:
    result = cli("dlq", "replay", "92", "--edit", EDITOR=f"touch {tmp_path}/begun")
    assert (result.code, "there is no terminal to edit on" in result.err, "say --yes" in result.err) == (2, True, True)
    assert not (tmp_path / "begun").exists()
    assert letters.posted(REPLAY) == []


def test_a_broken_text_is_kept(cli: Cli, letters: FakeDaemon, tmp_path: Path) -> None:
    program = tmp_path / "editor"
    program.write_text('#!/bin/sh\necho "[[" > "$1"\n')
    program.chmod(0o755)
    result = cli("dlq", "replay", "92", "--edit", terminal=True, stdin="q\n", EDITOR=str(program), NO_COLOR="1")
    assert (result.code, "nothing was replayed" in result.err) == (5, True)
    kept = Path(result.err.split("your text is kept in ")[1].splitlines()[0])
    assert kept.read_text() == "[[\n"
    kept.unlink()


@pytest.mark.parametrize("script", ["exit 3", ': > "$1"', 'echo "[[" > "$1"', 'echo "nise = 1" >> "$1"'])
def test_an_edit_that_is_none_replays_nothing(cli: Cli, letters: FakeDaemon, tmp_path: Path, script: str) -> None:
    assert edited(cli, tmp_path, script, "92").code in (1, 2)
    assert letters.posted(REPLAY) == []


def test_a_slip_can_be_mended_on_a_terminal(cli: Cli, letters: FakeDaemon, tmp_path: Path) -> None:
    program = tmp_path / "editor"
    program.write_text(
        '#!/bin/sh\nif grep -q shell "$1"; then sed -i /shell/d "$1"; else echo "shell = 1" >> "$1"; fi\n'
    )
    program.chmod(0o755)
    environ = {"EDITOR": str(program), "NO_COLOR": "1"}
    result = cli("dlq", "replay", "92", "--edit", terminal=True, stdin="e\n", **environ)
    assert (result.code, "edit it again, or quit? [E/q]" in result.err) == (0, True)
    assert letters.posted(REPLAY) == [{"ids": [92]}]


WORK = {"target": {"shell": 'echo "a\x7f\\ü\n'}, "stdin": "x\ty\n", "cwd": None, "env": {"A b": "1\x01"}}


def test_a_text_comes_back_as_it_went() -> None:
    assert changes(WORK, as_text(WORK, ["about it"])) == {}
    plain = {"shell": WORK["target"], "stdin": WORK["stdin"], "env": WORK["env"]}
    assert changes(WORK, json.dumps(plain | {"shell": "true"})) == {"target": {"shell": "true"}}


@pytest.mark.parametrize(
    "text",
    ['command = "x"', 'command = [1]', 'shell = "x"\ncommand = ["x"]', 'shell = "x"\ncwd = 1', 'shell = "x"\nenv = 1',
     'shell = "x"\n[env]\nA = 1', 'shell = "x"\n[env]\nB = "b"', "{", '{"shell": "x", "user": "root"}'],
)  # fmt: skip
def test_texts_that_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        changes(WORK, text)


# ── discard ──────────────────────────────────────────────


def test_discarding(cli: Cli, letters: FakeDaemon) -> None:
    assert cli("dlq", "discard", "92", "--why", "data is gone").out == "discarded 1 dead letter\n"
    assert letters.posted("/v1/dead/discard") == [{"ids": [92], "why": "data is gone"}]
    assert cli("dlq", "discard", "backup").code == 2
    assert "discard 2 dead letters? [y/N]" in cli("dlq", "discard", "backup", terminal=True, stdin="\n").err
    assert cli("dlq", "discard", "backup", "--yes", "--json").json() == {"discarded": [91, 90]}
    assert cli("dlq", "discard", "94", "92", "-o", "name").out == "94\n"


def test_discarding_what_is_none(cli: Cli, letters: FakeDaemon) -> None:
    partly = cli("dlq", "discard", "92", "102", "103")
    assert (partly.code, "failed: 102 103 are no dead letters" in partly.err) == (7, True)
