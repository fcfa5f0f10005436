"""Who gets in when it is full: nobody can keep the others out."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from jobctl.errors import JobctlError
from jobctl_daemon.api.callers import Welcome
from jobctl_daemon.api.door import Door

ROOT, ADA, BOB, EVE = 0, 1, 2, 3


@dataclass(eq=False)
class Line:
    """A connection, as the door sees it."""

    uid: int
    idle: bool = False
    refused: bool = False
    gone: list[str] = field(default_factory=list)
    wire: "Line | None" = None

    def __post_init__(self) -> None:
        self.wire = self

    def abort(self) -> None:
        self.gone.append("broken off")

    def force_close(self) -> None:
        self.gone.append("closed")

    def refuse(self, error: JobctlError) -> None:
        self.refused = True

    def overdue(self, now_s: float) -> None:
        return


class Known:
    """Root, and people; whoever is above 100 is a stranger."""

    def welcome(self, uid: int | None) -> Welcome:
        if uid == ROOT:
            return Welcome.OWN
        return Welcome.KNOWN if uid is not None and uid < 100 else Welcome.STRANGER


def a_door(most: int = 8, of_one: int = 4) -> tuple[Door, Callable[..., Line]]:
    door = Door(Known(), most, of_one)  # type: ignore[arg-type]

    def enter(uid: int, *, idle: bool = False) -> Line:
        line = Line(uid, idle)
        door.enter(line)  # type: ignore[arg-type]
        return line

    return door, enter


async def test_one_user_has_so_many_and_his_own_idle_ones_make_room() -> None:
    door, enter = a_door()
    kept = [enter(ADA) for _ in range(3)]
    idle = enter(ADA, idle=True)
    assert not enter(ADA).refused
    assert idle.gone == ["closed"]
    assert enter(ADA).refused
    assert all(not line.gone for line in kept)
    assert not enter(BOB).refused
    assert all(not enter(ROOT).refused for _ in range(3))
    door.close()


async def test_who_has_most_makes_room_for_who_has_less() -> None:
    door, enter = a_door(most=6)
    adas, bobs = [enter(ADA) for _ in range(4)], [enter(BOB) for _ in range(2)]
    assert not enter(EVE).refused
    assert [line.gone for line in adas] == [["broken off"], [], [], []]
    assert all(not line.gone for line in bobs)
    assert not enter(EVE).refused
    # Now all have two at least, or less than two apart: nobody takes from another.
    assert enter(EVE).refused
    assert enter(BOB).refused
    door.close()


async def test_strangers_make_room_first_and_take_none_from_who_is_known() -> None:
    door, enter = a_door(most=4)
    known = [enter(ADA), enter(BOB, idle=True)]
    strangers = [enter(101), enter(102)]
    assert enter(103).refused
    assert not enter(EVE).refused
    assert [line.gone for line in strangers] == [["broken off"], []]
    assert all(not line.gone for line in known)
    door.close()


async def test_a_crowd_of_strangers_with_one_each_closes_nobodys_only_connection() -> None:
    door, enter = a_door(most=8)
    adas = [enter(ADA, idle=True), enter(ADA)]
    bob = enter(BOB, idle=True)
    for uid in range(200, 260):
        enter(uid)
    assert (bob.gone, adas[1].gone) == ([], [])
    assert not enter(EVE).refused
    assert not enter(ROOT).refused
    door.close()


async def test_root_gets_in_whoever_is_there() -> None:
    door, enter = a_door(most=4)
    lines = [enter(uid) for uid in (ADA, BOB, EVE, 4)]
    assert not enter(ROOT).refused
    assert sum(bool(line.gone) for line in lines) == 1
    await asyncio.gather()
    door.close()
