"""Whom the system's daemon serves as what: accounts asked off the loop, groups of the peer, roles that end."""

import asyncio
import grp
import os
import pwd
import socket
import threading

import pytest

from jobctl.errors import Forbidden, Unavailable
from jobctl_daemon.api import people as module
from jobctl_daemon.api.admission import Lists
from jobctl_daemon.api.callers import Everybody, OneUser, Peer, Welcome, peer_groups
from jobctl_daemon.api.people import People, Person, Signature, look_up
from jobctl_daemon.rows import Caller
from kit.accounts import needs_root
from kit.clock import ManualClock

ADA, EVE, NOBODY = 1001, 1003, 999_999
GROUP = 4711


class Directory:
    """Accounts, as a host has them."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_800_000_000_000)
        self.accounts = {ADA: "ada", EVE: "eve"}
        self.members = {EVE}
        self.files: Signature = (1,)
        self.asked: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.group = "jobctl"
        self.people = People(self.clock, lambda: self.group, self._look_up, lambda: self.files)

    def _look_up(self, uid: int, group: str) -> Person | None:
        self.gate.wait(10)
        self.asked.append(uid)
        if uid not in self.accounts:
            return None
        return Person(uid, self.accounts[uid], GROUP if uid in self.members and group == "jobctl" else None)

    def everybody(self) -> Everybody:
        return Everybody("root", self.people, Lists([]), overflow=65534)


def peer(uid: int, *groups: int) -> Peer:
    return Peer(uid, uid, frozenset((uid, *groups)))


async def test_what_was_answered_holds_for_a_moment_and_no_longer_than_the_files_stay() -> None:
    host = Directory()
    assert await host.people.ask(ADA) == await host.people.ask(ADA) == Person(ADA, "ada", None)
    assert host.asked == [ADA]
    host.clock.tick(10_000)
    await host.people.ask(ADA)
    assert host.asked == [ADA] * 2
    host.accounts[ADA], host.files = "lovelace", (2,)
    assert await host.people.ask(ADA) == Person(ADA, "lovelace", None)
    host.group = "wheel"
    await host.people.ask(ADA)
    assert host.asked == [ADA] * 4


async def test_that_there_is_no_account_is_asked_again_soon() -> None:
    host = Directory()
    assert await host.people.ask(NOBODY) is None
    assert await host.people.ask(NOBODY) is None
    host.accounts[NOBODY] = "new"
    host.clock.tick(2_000)
    assert await host.people.ask(NOBODY) == Person(NOBODY, "new", None)
    assert host.asked == [NOBODY] * 2


async def test_a_directory_that_says_nothing_holds_up_who_asks_it_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.02)
    monkeypatch.setattr(module, "_IMPATIENCE_S", 0.01)
    host = Directory()
    everybody = host.everybody()
    await everybody.caller(peer(EVE, GROUP))
    host.gate.clear()
    try:
        with pytest.raises(Unavailable):
            await everybody.caller(peer(ADA))
        assert (await everybody.caller(peer(0))).all_owners
        host.clock.tick(60_000)  # what was true lately holds
        assert (await everybody.caller(peer(EVE, GROUP))).all_owners
        host.clock.tick(300_000)
        with pytest.raises(Unavailable):
            await everybody.caller(peer(EVE, GROUP))
        # Whoever asks, there are not more than so many threads.
        for uid in range(2_000, 2_050):
            with pytest.raises(Unavailable):
                await host.people.ask(uid)
        assert sum(thread.name == "account look-up" for thread in threading.enumerate()) <= 8
    finally:
        host.gate.set()
    for _ in range(100):
        if await _answered(host):
            break
    assert (await everybody.caller(peer(ADA))).name == "ada"


async def _answered(host: Directory) -> bool:
    await asyncio.gather(*host.people._asked.values())
    return not host.people._asked


async def test_a_file_that_changed_makes_nobody_of_before_an_admin_though_the_directory_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.02)
    host = Directory()
    assert (await host.everybody().caller(peer(EVE, GROUP))).all_owners
    host.gate.clear()
    host.files = (2,)
    with pytest.raises(Unavailable):
        await host.everybody().caller(peer(EVE, GROUP))
    host.gate.set()


async def test_files_that_change_while_they_are_read_leave_nobody_without_an_answer() -> None:
    """Also where the question was asked for somebody else, before the change that this one has seen."""
    host = Directory()
    host.gate.clear()
    first = asyncio.ensure_future(host.people.ask(ADA))
    while not host.people._asked:
        await asyncio.wait([first], timeout=0.01)
    host.files = (2,)
    second = asyncio.ensure_future(host.people.ask(ADA))
    await asyncio.wait([second], timeout=0.01)
    host.accounts[ADA], host.files = "lovelace", (3,)
    host.gate.set()
    assert (await first, await second) == (Person(ADA, "lovelace", None),) * 2
    assert len(host.asked) == 2


async def test_an_admin_needs_the_group_in_the_process_and_in_the_database() -> None:
    host = Directory()
    everybody = host.everybody()
    assert await everybody.caller(peer(EVE, GROUP)) == Caller(uid=EVE, name="eve", all_owners=True)
    assert await everybody.caller(peer(EVE)) == Caller(uid=EVE, name="eve")
    assert await everybody.caller(peer(ADA, GROUP)) == Caller(uid=ADA, name="ada")
    host.members.clear()
    host.files = (2,)
    assert not (await everybody.caller(peer(EVE, GROUP))).all_owners


@pytest.mark.parametrize("uid", [65534, NOBODY])
async def test_who_may_be_anybody_and_who_is_nobody_is_refused(uid: int) -> None:
    host = Directory()
    host.accounts[65534] = "nobody"
    with pytest.raises(Forbidden):
        await host.everybody().caller(peer(uid))
    with pytest.raises(Forbidden):
        await host.everybody().caller(None)


async def test_a_uid_is_welcome_once_it_is_known() -> None:
    host = Directory()
    everybody = host.everybody()
    assert [everybody.welcome(uid) for uid in (0, ADA, None, 65534)] == [Welcome.OWN, *[Welcome.STRANGER] * 3]
    await everybody.caller(peer(ADA))
    assert everybody.welcome(ADA) is Welcome.KNOWN


async def test_a_daemon_of_one_user_serves_that_one_and_root_as_that_one() -> None:
    one = OneUser(ADA, "ada")
    assert await one.caller(peer(ADA)) == await one.caller(peer(0)) == Caller(uid=ADA, name="ada")
    for stranger in (peer(EVE), None):
        with pytest.raises(Forbidden):
            await one.caller(stranger)


def test_accounts_of_this_host() -> None:
    me = pwd.getpwuid(os.getuid())
    own = grp.getgrgid(me.pw_gid).gr_name
    assert look_up(me.pw_uid, own) == Person(me.pw_uid, me.pw_name, me.pw_gid)
    assert look_up(me.pw_uid, "no-such-group") == Person(me.pw_uid, me.pw_name, None)
    assert look_up(me.pw_uid, "") == Person(me.pw_uid, me.pw_name, None)
    assert look_up(4_294_967_290, own) is None


@needs_root
@pytest.mark.parametrize("count", [0, 3, 255, 256, 257, 3_000])
def test_the_groups_of_a_peer_are_told_however_many(count: int) -> None:
    wanted = set(range(100_000, 100_000 + count))
    before = os.getgroups()
    os.setgroups(sorted(wanted))
    try:
        here, there = socket.socketpair()
    finally:
        os.setgroups(before)
    with here, there:
        assert set(peer_groups(here)) == wanted
