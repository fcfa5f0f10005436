"""What an action is done to, and what of it was refused."""

import pytest

from jobctl.client.sync import Client
from jobctl.errors import Conflict, NotFound
from jobctl_tui.live import aim
from jobctl_tui.live.aim import Aim
from kit.scripted import Scripted

AIMS = [Aim(1, "backup-db"), Aim(2, "sync-crm"), Aim(3, "\x1b[31mred")]


def refusing(*refused: int) -> "aim.Done":
    def act(client: Client, one: Aim) -> int:
        if one.id in refused:
            raise Conflict(f"{one.id} is not paused", "look at it")
        return one.id

    return aim.each(Scripted({}).client(), AIMS, act)


def test_what_is_refused_keeps_none_of_the_others_from_being_done() -> None:
    done = refusing(2)
    assert done.ids == (1, 3)
    assert aim.not_done(done) == "1 of 3 was not: sync-crm: 2 is not paused"


def test_what_goes_on_says_how_far_it_is_and_stops_before_the_next() -> None:
    going = aim.Going()

    def act(client: Client, one: Aim) -> int:
        going.stopped = one.id == 2
        return going.count

    done = aim.each(Scripted({}).client(), AIMS, act, going)
    assert [(one.id, count) for one, count in done.done] == [(1, 1), (2, 2)]
    assert (going.count, done.failed) == (2, ())


def test_when_all_are_refused_it_is_a_failure_that_names_the_first() -> None:
    with pytest.raises(Conflict, match="none of 3: backup-db: 1 is not paused"):
        refusing(1, 2, 3)


def test_one_reason_for_all_is_that_reason() -> None:
    def act(client: Client, one: Aim) -> None:
        raise NotFound("there is no daemon of yours", "start one")

    with pytest.raises(NotFound, match="there is no daemon of yours"):
        aim.each(Scripted({}).client(), AIMS, act)


def test_a_few_are_called_by_their_names_and_many_are_counted() -> None:
    assert aim.called(AIMS[:1]) == "backup-db"
    assert aim.called(AIMS) == "backup-db, sync-crm and \\x1b[31mred"
    assert aim.called(AIMS + AIMS) == "6 jobs"
    assert aim.called(AIMS + AIMS, "run") == "6 runs"
