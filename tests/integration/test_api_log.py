"""Logs over the socket: byte for byte, by offset, and live."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl_daemon.execution.logs import Dropped
from jobctl_daemon.rows import Claim
from jobctl_daemon.runner.output import Output
from unit.api.world import Answer, World, world

CAP = 40_960


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


def lines(count: int) -> bytes:
    return b"".join(b"%09d\n" % (number * 10) for number in range(count))


def log(answer: Answer) -> dict[str, str]:
    """The answer's headers about the log."""
    prefix = "jobctl-log-"
    return {name.removeprefix(prefix): value for name, value in answer.headers.items() if name.startswith(prefix)}


class Follower:
    """A request that goes on; what has arrived can be looked at."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.data = b""

    async def until(self, wanted: bytes) -> None:
        async with asyncio.timeout(10):
            while wanted not in self.data:
                piece = await self._reader.read(65_536)
                assert piece, self.data[-300:]
                self.data += piece

    async def end(self) -> bytes:
        """Everything, until the server closes."""
        async with asyncio.timeout(10):
            self.data += await self._reader.read()
        return self.data


async def follow(api: World, claim: Claim, query: str = "") -> Follower:
    target = f"/v1/runs/{claim.run_id}/log?follow=1{query}"
    # HTTP/1.0: the body is not in chunks, so it reads easily.
    reader, _ = await api.connect(f"GET {target} HTTP/1.0\r\n\r\n".encode())
    await api.settled()
    return Follower(reader)


async def test_bytes_arrive_as_they_were_written(api: World) -> None:
    claim = await api.claimed()
    data = b"ok\xe2\x28\xa1\xff\0end" + os.urandom(200_000) + "né".encode()[:-1]
    api.log_path(claim).write_bytes(data)
    await api.end(claim, log_size=len(data))
    answer = await api.ask("GET", f"/v1/runs/{claim.run_id}/log")
    assert answer.body == data
    assert log(answer) == {"offset": "0", "size": str(len(data)), "attempt": "1", "complete": "1"}


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [("offset=100", 100, 5000), ("offset=-10", 4990, 5000), ("offset=100&limit=7", 100, 107),
     ("offset=5000", 5000, 5000), ("offset=-99999", 0, 5000), ("limit=0", 0, 0)],
)  # fmt: skip
async def test_any_part_can_be_asked_for(api: World, query: str, first: int, last: int) -> None:
    claim = await api.claimed()
    api.log_path(claim).write_bytes(lines(500))
    answer = await api.ask("GET", f"/v1/runs/{claim.run_id}/log?{query}")
    assert answer.body == lines(500)[first:last]
    assert (log(answer)["offset"], log(answer)["complete"]) == (str(first), "0")


async def test_an_offset_beyond_the_end_begins_again_and_says_so(api: World) -> None:
    claim = await api.claimed()
    api.log_path(claim).write_bytes(b"short")
    answer = await api.ask("GET", f"/v1/runs/{claim.run_id}/log?offset=100")
    assert (answer.body, log(answer)["reset"], log(answer)["offset"]) == (b"short", "1", "0")


async def test_a_capped_log_shows_a_marker_and_keeps_its_offsets(api: World) -> None:
    claim = await api.claimed()
    text = lines(20_000)
    api.log_path(claim).write_bytes(text)
    output = Output(os.fsencode(api.log_path(claim)), CAP)
    size = output.finish(alone=True)
    await api.end(claim, log_size=size, log_dropped_from=output.dropped_from, log_dropped_to=output.dropped_to)
    gap = Dropped(output.dropped_from or 0, output.dropped_to)
    whole = await api.ask("GET", f"/v1/runs/{claim.run_id}/log")
    assert whole.body == text[: gap.start] + gap.marker + text[gap.end :]
    assert log(whole)["dropped"] == f"{gap.start}-{gap.end}"
    assert log(whole)["marker"] == str(len(gap.marker))
    assert log(whole)["size"] == str(size)
    inside = await api.ask("GET", f"/v1/runs/{claim.run_id}/log?offset={gap.start + 5}&limit=10")
    assert log(inside)["offset"] == str(gap.end)
    assert inside.body == gap.marker + text[gap.end : gap.end + 10]
    tail = await api.ask("GET", f"/v1/runs/{claim.run_id}/log?offset=-10")
    assert tail.body == text[-10:]


async def test_a_follower_sees_what_is_written_while_it_is_written_and_ends_with_the_run(api: World) -> None:
    claim = await api.claimed()
    follower = await follow(api, claim)
    with api.log_path(claim).open("ab", buffering=0) as file:
        file.write(b"hello\n")
        await follower.until(b"hello\n")
        file.write(b"last words")
        await api.end(claim, log_size=16)
    assert (await follower.end()).endswith(b"\r\n\r\nhello\nlast words")


async def test_a_follower_who_comes_before_the_start_gets_all_of_it(api: World) -> None:
    claim = await api.claimed()
    await api.store.unclaim([(claim.run_id, claim.fence)], 0, 0, "again")
    assert (await api.ask("GET", f"/v1/runs/{claim.run_id}/log")).status == 404
    follower = await follow(api, claim)
    (again,) = await api.store.claim(api.clock.now_ms(), 1, "node", "boot")
    api.log_path(again).write_bytes(b"begun")
    await follower.until(b"begun")
    await api.end(again, log_size=5)
    await follower.end()


async def test_a_compaction_under_a_follower_loses_and_doubles_nothing(api: World) -> None:
    claim = await api.claimed()
    path = api.log_path(claim)
    text = lines(3000)
    path.write_bytes(text)
    output = Output(os.fsencode(path), CAP)
    follower = await follow(api, claim)
    await follower.until(text[-10:])
    more = lines(6000)[len(text) :]
    with path.open("ab") as file:
        file.write(more)
    await follower.until(more[-10:])
    size = output.finish(alone=True)
    assert path.stat().st_size < size
    await api.end(claim, log_size=size)
    assert (await follower.end()).partition(b"\r\n\r\n")[2] == text + more


async def test_a_follower_in_the_middle_who_comes_back_after_the_compaction_goes_on_exactly(api: World) -> None:
    claim = await api.claimed()
    path, text = api.log_path(claim), lines(6000)
    path.write_bytes(text)
    output = Output(os.fsencode(path), CAP)
    size = output.finish(alone=True)
    # The file is short already, and its attempt is not yet on record as ended.
    follower = await follow(api, claim, f"&offset={size - 25}")
    await api.end(claim, log_size=size)
    head, _, body = (await follower.end()).partition(b"\r\n\r\n")
    assert body == text[-25:]
    assert b"Reset" not in head


async def test_a_log_that_its_command_truncated_ends_the_answer(api: World) -> None:
    claim = await api.claimed()
    path = api.log_path(claim)
    path.write_bytes(b"a long story")
    follower = await follow(api, claim)
    await follower.until(b"a long story")
    os.truncate(path, 0)
    await follower.end()
    answer = await api.ask("GET", f"/v1/runs/{claim.run_id}/log?offset=12")
    assert (answer.body, log(answer)["reset"]) == (b"", "1")


async def test_a_run_that_never_started_has_no_log_and_one_that_was_pruned_says_so(api: World) -> None:
    await api.add(name="later")
    run = (await api.ask("POST", "/v1/jobs/later/runs", {"run_at": "in 1h"})).json
    assert (await api.ask("GET", f"/v1/runs/{run['id']}/log")).status == 404
    claim = await api.claimed()
    await api.end(claim, log_size=5)
    gone = await api.ask("GET", f"/v1/runs/{claim.run_id}/log")
    assert (gone.status, "kept" in gone.json["title"]) == (404, True)


async def test_a_command_that_could_not_start_has_an_empty_log(api: World) -> None:
    claim = await api.claimed()
    await api.end(claim, exit_code=None)
    answer = await api.ask("GET", f"/v1/runs/{claim.run_id}/log?follow=1")
    assert (answer.status, answer.body) == (200, b"")


async def test_a_planted_link_is_not_followed(api: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do not tell")
    claim = await api.claimed()
    api.log_path(claim).symlink_to(secret)
    answer = await api.ask("GET", f"/v1/runs/{claim.run_id}/log")
    assert answer.status == 404
    assert b"do not tell" not in answer.body
