"""Whose turn it is: accounts one after the other, whoever has asked how much."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from jobctl_daemon.fair_queue import FairQueue
from jobctl_daemon.rows import Caller

ADA, BOB, CAT = (Caller(uid=1000 + number, name=name) for number, name in enumerate(("ada", "bob", "cat")))
ROOT = Caller(uid=0, name="root", all_owners=True)
ADMIN = Caller(uid=1010, name="admin", all_owners=True)


class Scene:
    """Questions that take as long as the test says."""

    def __init__(self) -> None:
        self.queue = FairQueue()
        self.entered: list[str] = []
        self.asked: list[asyncio.Task[None]] = []

    async def ask(self, *callers: Caller) -> None:
        for caller in callers:
            self.asked.append(asyncio.ensure_future(self._one(caller)))
            await settled()

    async def _one(self, caller: Caller) -> None:
        await self.queue.enter(caller)
        self.entered.append(caller.name)

    async def answered(self, times: int = 1) -> list[str]:
        """So many questions come to their end; who has been let in until then."""
        for _ in range(times):
            self.queue.leave()
            await settled()
        return self.entered


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    yield made
    for task in made.asked:
        task.cancel()
    await asyncio.gather(*made.asked, return_exceptions=True)


async def test_who_comes_waits_for_one_of_the_many_questions_of_another(scene: Scene) -> None:
    await scene.ask(*[ADA] * 11, BOB)
    assert scene.entered == ["ada"]
    assert await scene.answered() == ["ada", "bob"]
    assert await scene.answered(10) == ["ada", "bob", *["ada"] * 10]


async def test_accounts_take_turns_in_the_order_in_which_they_came(scene: Scene) -> None:
    await scene.ask(ADA, ADA, ADA, BOB, BOB, CAT)
    assert await scene.answered(5) == ["ada", "bob", "cat", "ada", "bob", "ada"]


async def test_who_asks_again_stands_behind_all_who_wait(scene: Scene) -> None:
    await scene.ask(ADA, BOB, CAT, ADA)
    assert await scene.answered() == ["ada", "bob"]
    await scene.ask(BOB)
    assert await scene.answered(3) == ["ada", "bob", "cat", "ada", "bob"]


@pytest.mark.parametrize("operator", [ROOT, ADMIN, Caller(uid=0, name="root")])
async def test_who_operates_the_daemon_waits_for_one_question_however_many_accounts_wait(
    scene: Scene, operator: Caller
) -> None:
    others = [Caller(uid=2000 + number, name="other") for number in range(20)]
    await scene.ask(*others, operator)
    assert (await scene.answered())[1:] == [operator.name]


async def test_others_have_their_turn_between_any_two_of_those_who_operate_it(scene: Scene) -> None:
    await scene.ask(ROOT, ROOT, ADMIN, ROOT, ADA, BOB, ADA)
    assert await scene.answered(6) == ["root", "ada", "admin", "bob", "root", "ada", "root"]


async def test_who_goes_away_is_passed_over(scene: Scene) -> None:
    await scene.ask(ADA, BOB, BOB, CAT)
    for gone in scene.asked[1:3]:
        gone.cancel()
    await settled()
    assert await scene.answered() == ["ada", "cat"]
    await scene.answered()
    await scene.ask(BOB)
    assert scene.entered == ["ada", "cat", "bob"]


async def test_who_goes_away_as_he_is_let_in_keeps_nobody_out(scene: Scene) -> None:
    await scene.ask(ADA, BOB, CAT)
    scene.queue.leave()
    scene.asked[1].cancel()
    await settled()
    assert scene.entered == ["ada", "cat"]


async def test_a_turn_ends_with_an_error_as_well() -> None:
    queue = FairQueue()
    with pytest.raises(ZeroDivisionError):
        async with queue.turn(ADA):
            raise ZeroDivisionError
    await asyncio.wait_for(queue.enter(BOB), 5)
