"""What may be much is checked one at a time, and accounts take turns."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

from jobctl_daemon.api.definitions import checked_in_turn
from jobctl_daemon.fair_queue import FairQueue
from jobctl_daemon.rows import Caller


async def test_somebody_who_sends_much_takes_one_thread_and_another_comes_between() -> None:
    services = SimpleNamespace(bulk=FairQueue())
    gate, order, inside = threading.Event(), [], 0

    def check(name: str) -> None:
        nonlocal inside
        inside += 1
        assert inside == 1
        assert gate.wait(10)
        order.append(name)
        inside -= 1

    def asked(uid: int, name: str) -> asyncio.Task[None]:
        call: Any = SimpleNamespace(services=services, caller=Caller(uid=uid, name=name))
        return asyncio.create_task(checked_in_turn(call, check, name))

    all_asked = [asked(1001, "much") for _ in range(4)]
    await asyncio.sleep(0)
    all_asked.append(asked(1002, "little"))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*all_asked)
    assert order == ["much", "little", "much", "much", "much"]
