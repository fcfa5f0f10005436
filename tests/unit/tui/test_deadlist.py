"""The dead letters as a tree that keeps still while somebody chooses."""

from collections.abc import Callable
from typing import Any

from jobctl.client.sync import Client
from jobctl.errors import JobctlError, Unreachable
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.window import Dirty
from jobctl_tui.screens.deadlist import DeadList, Read, Wanted, letters_of, read
from jobctl_tui.words.dead import group_key
from kit.clock import ManualClock
from kit.scripted import Scripted

Json = dict[str, Any]
DIED = (Changes(events=({"id": 1, "kind": "run.dead", "run_id": 5},)),)


def letter(ident: int, fingerprint: str = "aa") -> Json:
    return {"id": ident, "fingerprint": fingerprint, "state": "dead", "finished_at": f"2026-11-29T02:00:{ident:02d}Z"}


def group(fingerprint: str, count: int) -> Json:
    return {"fingerprint": fingerprint, "count": count, "newest_run_id": 1}


class Asks:
    """Errands that wait until the test lets them be done."""

    def __init__(self, daemon: Scripted) -> None:
        self.client = daemon.client()
        self.waiting: list[tuple[Callable[[Client], Any], Any, Any]] = []
        self.timers: list[Callable[[], None]] = []

    def run(self, work: Any, done: Any = None, failed: Any = None, group: str | None = None) -> None:
        self.waiting.append((work, done, failed))

    def later(self, after_ms: int, call: Callable[[], None]) -> None:
        self.timers.append(call)

    def do(self) -> None:
        waiting, self.waiting = self.waiting, []
        for work, done, failed in waiting:
            try:
                answer = work(self.client)
            except JobctlError as error:
                failed(error)
            else:
                done(answer)

    def ring(self) -> None:
        timers, self.timers = self.timers, []
        for timer in timers:
            timer()


def listed(daemon: Scripted, clock: ManualClock) -> tuple[DeadList, Asks, list[Dirty]]:
    asks, told = Asks(daemon), list[Dirty]()
    letters = DeadList(asks, clock, told.append)
    letters.reorder()
    asks.do()
    return letters, asks, told


def two_groups() -> Scripted:
    return Scripted({"/v1/dead/groups": [group("aa", 2), group("bb", 1)], "/v1/dead": [letter(2), letter(1)]})


def keys(letters: DeadList) -> list[int | None]:
    found = [letters.row(index) for index in range(letters.total)]
    return [
        None if row is None else (row.run["id"] if hasattr(row, "run") else row.line["fingerprint"]) for row in found
    ]


def test_a_group_that_is_unfolded_has_its_letters_below_it_once_they_have_come() -> None:
    letters, asks, _ = listed(two_groups(), ManualClock())
    letters.show(Wanted(unfolded=frozenset({"aa"})))
    assert keys(letters) == ["aa", "bb"]
    asks.do()
    assert keys(letters) == ["aa", 2, 1, "bb"]
    assert letters.index_of(1) == 2
    assert letters.index_of(group_key("bb")) == 3


def test_what_is_folded_is_so_at_once() -> None:
    letters, asks, _ = listed(two_groups(), ManualClock())
    letters.show(Wanted(unfolded=frozenset({"aa"})))
    asks.do()
    letters.show(Wanted())
    assert keys(letters) == ["aa", "bb"]


def test_a_death_is_seen_within_two_seconds_and_not_oftener() -> None:
    daemon, clock = two_groups(), ManualClock()
    letters, asks, _ = listed(daemon, clock)
    daemon.answers["/v1/dead/groups"] = [group("cc", 1)]
    letters.touch(*DIED)
    assert asks.waiting == []
    clock.tick(2_000)
    asks.ring()
    asks.do()
    assert keys(letters) == ["cc"]


def test_rows_keep_their_places_while_somebody_chooses_and_are_exchanged_afterwards() -> None:
    daemon, clock = two_groups(), ManualClock()
    letters, asks, _ = listed(daemon, clock)
    letters.hold = True
    daemon.answers["/v1/dead/groups"] = [group("cc", 1)]
    clock.tick(2_000)
    letters.touch(*DIED)
    asks.do()
    assert keys(letters) == ["aa", "bb"]
    letters.hold = False
    assert keys(letters) == ["cc"]


def test_a_key_holds_them_for_its_time() -> None:
    daemon, clock = two_groups(), ManualClock()
    letters, asks, _ = listed(daemon, clock)
    daemon.answers["/v1/dead/groups"] = [group("cc", 1)]
    clock.tick(2_000)
    letters.hold_for(2_000)
    letters.touch(*DIED)
    asks.do()
    assert keys(letters) == ["aa", "bb"]
    clock.tick(2_000)
    asks.ring()
    assert keys(letters) == ["cc"]


def test_events_of_other_things_read_nothing() -> None:
    letters, asks, _ = listed(two_groups(), clock := ManualClock())
    clock.tick(10_000)
    letters.touch(Changes(events=({"id": 1, "kind": "run.succeeded", "run_id": 5},)))
    assert (asks.waiting, asks.timers) == ([], [])


def test_when_the_daemon_does_not_answer_what_was_here_stays() -> None:
    def away(request: Any) -> Any:
        raise Unreachable("cannot reach the daemon", "start one")

    daemon, clock = two_groups(), ManualClock()
    letters, asks, told = listed(daemon, clock)
    daemon.answers["/v1/dead/groups"] = away
    letters.reorder()
    asks.do()
    assert keys(letters) == ["aa", "bb"]
    assert letters.error is not None
    assert told[-1].all


def test_one_by_one_they_are_in_the_order_of_their_deaths() -> None:
    daemon = Scripted({"/v1/dead": [letter(3, "bb"), letter(2, "aa"), letter(1, "bb")]})
    letters = DeadList(asks := Asks(daemon), ManualClock(), lambda dirty: None)
    letters.show(Wanted(flat=True))
    asks.do()
    assert keys(letters) == [3, 2, 1]


def test_a_group_means_all_its_letters_and_a_letter_that_is_dead_no_more_is_left_out() -> None:
    daemon = Scripted({
        "/v1/dead": [letter(2), letter(1)], "/v1/runs/9": {**letter(9), "state": "succeeded"},
        "/v1/runs/7": letter(7, "bb"),
    })  # fmt: skip
    known = Read([group("aa", 2)], {}, 2)
    found = letters_of(daemon.client(), Wanted(), [group_key("aa"), 9, 7, 4], known)
    assert [run["id"] for run in found] == [7, 2, 1]


def test_a_filter_goes_with_every_question() -> None:
    daemon = two_groups()
    read(daemon.client(), Wanted(query="class:timed_out", unfolded=frozenset({"aa"})))
    assert all("q=class%3Atimed_out" in request.path for request in daemon.asked)
    assert len(daemon.asked) == 2
