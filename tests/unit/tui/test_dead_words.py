"""Dead letters as rows."""

from typing import Any

from jobctl_tui.words import dead
from jobctl_tui.words.glyphs import UTF8
from jobctl_tui.words.when import When

NOW_MS = 1_764_385_961_000  # 2025-11-29T03:12:41Z
WHEN = When(zone="utc")


def group(fingerprint: str = "3f2a91c07d18", **fields: Any) -> dict[str, Any]:
    line = {"fingerprint": fingerprint, "count": 3, "jobs": ["backup-db"], "class": "exit_code", "reason": "exit 1",
            "error": "No space left", "first_at": "2025-11-20T03:00:41Z", "last_at": "2025-11-29T03:00:41Z",
            "replays": 2, "newest_run_id": 4812}  # fmt: skip
    return {**line, **fields}


def letter(ident: int, **fields: Any) -> dict[str, Any]:
    run = {"id": ident, "job": "backup-db", "job_id": 1, "version": 7, "edited": False, "class": "exit_code",
           "exit_code": 1, "signal": None, "reason": "exit 1", "error": "No space left", "attempt": 3, "replays": 0,
           "put_back": None, "finished_at": "2025-11-29T03:00:41Z", "fingerprint": "3f2a91c07d18"}  # fmt: skip
    return {**run, **fields}


def test_an_unfolded_group_has_its_letters_below_it_and_a_folded_one_has_not() -> None:
    groups = [group(), group("00ff", count=1)]
    letters = {"3f2a91c07d18": [letter(4812), letter(4371)], "00ff": [letter(7)]}
    made = dead.rows(groups, letters, frozenset({"3f2a91c07d18"}))
    assert [dead.key(row) for row in made] == [dead.group_key("3f2a91c07d18"), 4812, 4371, dead.group_key("00ff")]


def test_the_key_of_a_group_is_never_that_of_a_run_and_is_always_the_same() -> None:
    for fingerprint in ("3f2a91c07d18", "restored", "unknown", "0"):
        assert dead.group_key(fingerprint) < 0
        assert dead.group_key(fingerprint) == dead.group_key(fingerprint)
    assert dead.group_key("restored") != dead.group_key("unknown")


def test_the_cells_of_a_group_say_what_how_many_and_since_when() -> None:
    cells = [text for text, _ in dead.cells(dead.Group(group(), open=True), UTF8, WHEN, NOW_MS)]
    assert cells == ["▾ No space left", "backup-db", "3", "12m", "9d", "exit 1"]


def test_a_letter_below_its_group_says_what_is_its_own_and_one_alone_what_it_failed_of() -> None:
    below = dead.cells(dead.Letter(letter(4812, replays=2), below=True), UTF8, WHEN, NOW_MS)
    assert below[0][0] == "  · run 4812  3 attempts, replayed 2×"
    alone = dead.cells(dead.Letter(letter(4812, error="[/x]\x1b[2J"), below=False), UTF8, WHEN, NOW_MS)
    assert alone[0][0] == "run 4812  [/x]\\x1b[2J"


def test_whether_a_job_has_changed_since_is_said_by_its_versions() -> None:
    run = letter(1)
    assert dead.changed_since(run, {"version": 7}) == "no"
    assert dead.changed_since(run, {"version": 9}) == "yes, version 7 → 9"
    assert dead.changed_since(run, None) == "the job is gone"
    assert "replay had changed" in dead.changed_since(letter(1, edited=True), {"version": 7})


def test_replays_before_say_how_they_ended() -> None:
    assert dead.replayed_before(letter(1)) == "never"
    assert dead.replayed_before(letter(1, replays=2)) == "2×, died again"
    back = letter(1, put_back={"at": "2025-11-29T03:00:41Z", "run": 5})
    assert dead.replayed_before(back) == "never; put back when run 5 died again"


def test_attempts_that_ended_alike_are_counted_together() -> None:
    failed = {"class": "exit_code", "exit_code": 1, "signal": None, "ended_at": "x"}
    late = {"class": "timed_out", "exit_code": None, "signal": None, "ended_at": "x"}
    assert dead.attempts([failed, failed, late]) == "2 × exit 1, then timed out"


def test_of_an_environment_only_the_names_are_shown() -> None:
    of = {"target": {"command": ["/opt/bin/backup.sh", "--full"]}, "env": {"TOKEN": "s3cret"}, "stdin": "abc"}
    assert dead.work(of) == [("runs", "/opt/bin/backup.sh --full"), ("input", "3 characters"), ("env", "TOKEN")]


def test_who_replays_what_has_died_again_twice_is_told_so() -> None:
    assert dead.warning(1, 5) == ""
    assert "replay one of them first" in dead.warning(2, 5)
    assert "replay one" not in dead.warning(2, 1)


def test_what_to_expect_is_by_the_median_of_the_jobs() -> None:
    assert dead.expect([660.0], 2, one_by_one=True) == "about 22m00s, one after the other"
    assert dead.expect([60.0, 120.0], 9, one_by_one=False) == "about 1m30s each"
    assert dead.expect([], 9, one_by_one=False) == ""


def test_after_a_replay_it_is_said_which_run_it_is_and_what_it_runs() -> None:
    jobs = {1: {"version": 9}}
    assert dead.replayed([letter(7)], jobs, {}) == "replayed 1 dead letter: run 7 of backup-db, as version 7"
    now = dead.replayed([letter(7)], jobs, {"current": True})
    assert now == "replayed 1 dead letter: run 7 of backup-db, as version 9"
    assert dead.replayed([letter(7)], {1: None}, {"current": True}).endswith("as version 7")
    assert dead.replayed([letter(7)], jobs, {"edit": {"target": {}}}).endswith("as version 7, with another command")
    assert dead.replayed([letter(7), letter(8)], jobs, {}) == "replayed 2 dead letters"
    assert dead.replayed([letter(7), letter(8)], jobs, {"current": True}).endswith("letters, as their jobs are now")
