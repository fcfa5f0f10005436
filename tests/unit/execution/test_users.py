"""Who commands run as is asked off the loop, and nobody waits long for an answer."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from jobctl.errors import InvalidInput, Unavailable
from jobctl_daemon.execution.identity import User
from jobctl_daemon.execution.users import PATIENCE_S, Users
from kit.clock import ManualClock


class Directory:
    """A directory service that answers when it is let."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.answers.set()
        self.users = {"ada": 1000, "bob": 1001}
        self.asked: list[str] = []

    def __call__(self, name: str) -> User:
        self.asked.append(name)
        assert self.answers.wait(10)
        if name not in self.users:
            raise InvalidInput(f"there is no user {name!r}")
        return User(name, self.users[name], 100, "/", ())


@pytest.fixture
def directory() -> Iterator[Directory]:
    made = Directory()
    yield made
    made.answers.set()


async def test_it_is_asked_once_for_many_starts_and_again_a_minute_later(directory: Directory) -> None:
    clock = ManualClock()
    users = Users(clock, directory)
    for _ in range(3):
        await users.ask(["ada", "bob"])
        assert (users.get("ada").uid, users.get("bob").uid) == (1000, 1001)
    assert sorted(directory.asked) == ["ada", "bob"]
    directory.users["ada"] = 2000
    clock.tick(60_000)
    await users.ask(["ada"])
    assert users.get("ada").uid == 2000


async def test_one_that_does_not_answer_holds_nobody_up(directory: Directory) -> None:
    users = Users(ManualClock(), directory)
    await users.ask(["ada"])
    directory.answers.clear()
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    for _ in range(3):
        await users.ask(["ada", "bob"])
    assert loop.time() - began_s < PATIENCE_S + 2  # nor does anybody wait for the same answer twice
    assert users.get("ada").uid == 1000
    with pytest.raises(Unavailable):
        users.get("bob")
    assert directory.asked == ["ada", "bob"]  # and is not asked again while it thinks

    directory.answers.set()
    async with asyncio.timeout(10):
        while users._asked:
            await asyncio.sleep(0)
    assert users.get("bob").uid == 1001


async def test_what_was_true_lately_holds_while_nobody_answers(directory: Directory) -> None:
    clock = ManualClock()
    users = Users(clock, directory)
    await users.ask(["ada"])
    directory.answers.clear()
    clock.tick(120_000)
    await users.ask(["ada"])
    assert users.get("ada").uid == 1000
    clock.tick(3_600_000)
    with pytest.raises(Unavailable):
        users.get("ada")


async def test_a_user_who_is_made_later_is_found(directory: Directory) -> None:
    clock = ManualClock()
    users = Users(clock, directory)
    await users.ask(["eve"])
    with pytest.raises(InvalidInput, match="no user"):
        users.get("eve")
    directory.users["eve"] = 1002
    clock.tick(2_000)
    await users.ask(["eve"])
    assert users.get("eve").uid == 1002


async def test_so_many_that_hang_do_not_make_so_many_threads(directory: Directory) -> None:
    directory.answers.clear()
    users = Users(ManualClock(), directory)
    await users.ask([f"user-{number}" for number in range(50)])
    assert len(directory.asked) == 8
