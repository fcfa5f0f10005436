"""Lines of a log with the time by which they were there."""

import pytest

from jobctl.cli import patience
from unit.cli.conftest import Cli
from unit.client.fake_daemon import Answer, Asked, FakeDaemon, problem

TIMES = [[0, "2026-11-29T02:00:00Z"], [4, "2026-11-29T02:00:01Z"], [8, "2026-11-29T02:00:31Z"],
         [14, "2026-11-29T02:00:41Z"]]  # fmt: skip


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_FIRST_S", 0.001)


def test_each_line_has_the_first_time_at_which_it_was_there(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.times[101] = TIMES
    assert cli("log", "101", "-t").out == "03:00:01 CET  one\n03:00:31 CET  two\n03:00:41 CET  three\n"
    assert cli("log", "101", "--times", "--utc", "--tail", "1").out == "02:00:41 UTC  three\n"
    assert cli("log", "101", "-t", "--offset", "-6").out == "03:00:41 CET  three\n"


def test_a_line_without_its_end_and_an_empty_one_have_a_time_too(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.logs[101], daemon.times[101] = b"\n\rx\xff\n\nend", [[0, TIMES[0][1]], [9, TIMES[1][1]]]
    assert cli("log", "101", "-t").raw == b"".join(
        b"03:00:01 CET  " + line for line in (b"\n", b"\rx\xff\n", b"\n", b"end")
    )


def test_a_daemon_that_knows_no_times_has_the_log_all_the_same(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.override("GET", "/v1/runs/101/log/times", lambda asked, match: problem(404, "not_found", "no such path"))
    assert cli("log", "101", "-t").out == "-  one\n-  two\n-  three\n"


def test_a_log_that_is_followed_over_a_break_goes_on_in_its_line(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.times[103] = TIMES
    whole = b"one\ntwo\nthree\n"
    parts = iter([(0, 6, "0"), (6, 14, "1")])

    def answer(asked: Asked, match: object) -> Answer:
        begin, end, complete = next(parts)
        assert asked.query.get("offset", "0") == str(begin)
        headers = {"Jobctl-Log-Offset": str(begin), "Jobctl-Log-Complete": complete, "Transfer-Encoding": "chunked"}
        return Answer(200, whole[begin:end], headers, cut=complete == "0")

    daemon.override("GET", "/v1/runs/103/log", answer)
    daemon.find_run("103") | {"state": "succeeded"}  # type: ignore[operator]
    daemon.runs[0] |= {"state": "succeeded", "finished_at": "2026-11-29T02:12:00Z"}
    result = cli("log", "103", "-f", "-t")
    assert result.out == "03:00:01 CET  one\n03:00:31 CET  two\n03:00:41 CET  three\n"


def test_behind_what_the_cap_removed_times_are_those_of_the_tail(cli: Cli, daemon: FakeDaemon) -> None:
    body = b"head\n[removed]\ntail\n"
    headers = {"Jobctl-Log-Offset": "0", "Jobctl-Log-Size": "1000", "Jobctl-Log-Dropped": "5-995",
               "Jobctl-Log-Marker": "10", "Jobctl-Log-Complete": "1"}  # fmt: skip
    daemon.override("GET", "/v1/runs/101/log", lambda asked, match: Answer(200, body, headers))
    daemon.times[101] = [[0, TIMES[0][1]], [5, TIMES[1][1]], [500, TIMES[2][1]], [1000, TIMES[3][1]]]
    lines = cli("log", "101", "-t").out.splitlines()
    assert lines[0] == "03:00:01 CET  head"
    assert lines[-1].endswith("  tail")


def test_json_has_the_times_beside_the_text(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.times[101] = TIMES
    assert cli("log", "101", "-t", "--json").json()["times"] == TIMES
    assert "times" not in cli("log", "101", "--json").json()
