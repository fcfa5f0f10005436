"""The ends of logs of runs that somebody looks at: read once, again while they grow, and again after a failure."""

from collections.abc import Callable
from typing import Any

from jobctl.errors import JobctlError, Unreachable
from jobctl_tui.live.tails import AGAIN_MS, Tails, tail
from kit.clock import ManualClock
from kit.scripted import Scripted, problem

Json = dict[str, Any]


class Asked:
    """Errands that wait to be carried out."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Any, Any, Any]] = []

    def run(self, work: Any, done: Any = None, failed: Any = None, group: str | None = None) -> None:
        self.waiting = [(work, done, failed)]  # of a group only the newest counts

    def later(self, after_ms: int, call: Callable[[], None]) -> None:
        raise AssertionError("nothing is put off")

    def answer(self, client: Any) -> None:
        (work, done, failed), self.waiting = self.waiting[0], []
        try:
            found = work(client)
        except JobctlError as error:
            failed(error)
        else:
            done(found)


def run(ident: int, state: str = "succeeded", attempt: int = 1) -> Json:
    return {"id": ident, "state": state, "attempt": attempt}


def made() -> tuple[Tails, Asked, ManualClock, list[int]]:
    asked, clock, came = Asked(), ManualClock(), list[int]()
    return Tails(asked, clock, came.append), asked, clock, came


def test_the_log_of_a_run_that_has_ended_is_read_once() -> None:
    tails, asked, clock, came = made()
    tails.want(run(1))
    asked.answer(Scripted({"/v1/runs/1/log": b"one\n\x1b[31mtwo\n"}).client())
    assert tails.of(run(1)) == ("one", "two")
    assert came == [1]
    clock.tick(60_000)
    tails.want(run(1))
    assert asked.waiting == []


def test_the_log_of_a_run_that_runs_is_read_again_but_not_too_often() -> None:
    tails, asked, clock, came = made()
    daemon = Scripted({"/v1/runs/1/log": b"one\n"})
    tails.want(run(1, "running"))
    asked.answer(daemon.client())
    tails.want(run(1, "running"))
    assert asked.waiting == []
    clock.tick(AGAIN_MS)
    daemon.answers["/v1/runs/1/log"] = b"one\ntwo\n"
    tails.want(run(1, "running"))
    asked.answer(daemon.client())
    assert tails.of(run(1)) == ("one", "two")
    assert came == [1, 1]


def test_another_attempt_and_the_end_are_reasons_to_read_again() -> None:
    tails, asked, _, _ = made()
    client = Scripted({"/v1/runs/1/log": b"one\n"}).client()
    for seen in (run(1, "running", 1), run(1, "running", 2), run(1, "failed", 2)):
        tails.want(seen)
        asked.answer(client)


def test_a_question_that_was_overtaken_is_asked_again_when_somebody_comes_back() -> None:
    tails, asked, _, _ = made()
    tails.want(run(1))
    tails.want(run(2))
    asked.answer(Scripted({"/v1/runs/2/log": b"two\n"}).client())
    tails.want(run(1))
    assert len(asked.waiting) == 1


def test_a_daemon_that_is_away_is_asked_again() -> None:
    def away(request: Any) -> Any:
        raise Unreachable("away")

    tails, asked, clock, _ = made()
    tails.want(run(1))
    asked.answer(Scripted({"/v1/runs/1/log": away}).client())
    clock.tick(AGAIN_MS)
    tails.want(run(1))
    assert len(asked.waiting) == 1


def test_a_run_that_never_began_has_nothing_to_read() -> None:
    tails, asked, _, _ = made()
    tails.want(run(1, "skipped", 0))
    assert asked.waiting == []


def test_of_a_long_log_the_first_piece_of_a_line_is_left_out() -> None:
    data = b"x" * 3000 + b"\n" + b"y" * 3000 + b"\nlast\n"
    assert tail(Scripted({"/v1/runs/1/log": data}).client(), 1) == ("y" * 3000, "last")


def test_a_log_that_is_gone_is_none() -> None:
    assert tail(Scripted({"/v1/runs/1/log": lambda _: problem(404, "not_found", "gone")}).client(), 1) == ()
