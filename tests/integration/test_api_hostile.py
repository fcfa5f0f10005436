"""What a clumsy or hostile client may send: it gets a problem document or a close, never a traceback or a hang."""

import asyncio
import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobctl_daemon.api import connection, door, listen, problems
from jobctl_daemon.api.routes import ROUTES
from unit.api.world import BODY, Answer, World, parsed, world


@pytest.fixture
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A world in which a bug of ours fails the test."""
    bugs: list[BaseException] = []
    real = problems.surprise

    def surprise(error: BaseException, where: str) -> Any:
        bugs.append(error)
        return real(error, where)

    for module in ("desk", "connection"):
        monkeypatch.setattr(f"jobctl_daemon.api.{module}.surprise", surprise)
    async with world(tmp_path) as made:
        yield made
    assert bugs == []


def is_problem(answer: Answer, status: int, code: str | None = None) -> bool:
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["jobctl-protocol"] == "1"
    document = answer.json
    assert set(document) >= {"type", "status", "code", "title", "detail", "hint", "field"}
    assert document["status"] == status
    assert document["title"]
    assert document["hint"]
    assert b"Traceback" not in answer.body
    return code is None or document["code"] == code


DEEP = b"[" * 100_000
BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "another type": b"[]",
    "null": b"null",
    "deep": DEEP,
    "deep inside": b'{"target":{"command":' + DEEP,
    "deep objects": b'{"target":' * 100_000,
    "not UTF-8": b'{"name":"\xff\xfe","target":{"shell":"x"}}',
    "half a surrogate": b'{"name":"\\ud800","target":{"shell":"x"}}',
    "a NUL": b'{"name":"a\\u0000b","target":{"shell":"x"}}',
    "a NUL in a command": b'{"target":{"command":["a\\u0000b"]}}',
    "unknown field": b'{"target":{"shell":"x"},"only_failed":true}',
    "unknown field inside": b'{"target":{"shell":"x","user":"root"}}',
    "missing field": b'{"name":"x"}',
    "wrong type": b'{"target":{"shell":7}}',
    "wrong enum": b'{"target":{"shell":"x"},"overlap":"sometimes"}',
    "huge number": b'{"target":{"shell":"x"},"timeout":' + b"9" * 400 + b"}",
    "huge exponent": b'{"target":{"shell":"x"},"timeout":1e999}',
    "NaN": b'{"target":{"shell":"x"},"timeout":NaN}',
    "both targets": b'{"target":{"shell":"x","command":["x"]}}',
    "trailing text": b'{"target":{"shell":"x"}} {}',
    "a path for a name": b'{"target":{"shell":"x"},"name":"\\u202eevil"}',
    "huge cron": b'{"target":{"shell":"x"},"schedule":{"cron":"' + b"0," * 400_000 + b'"}}',
    "hostile zone": b'{"target":{"shell":"x"},"timezone":"../../etc/passwd"}',
    "forged uid": b'{"target":{"shell":"x"},"uid":0,"owner":"root"}',
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_body_that_is_not_right_is_refused(api: World, name: str) -> None:
    assert is_problem(await api.ask("POST", "/v1/jobs", BODIES[name]), 422, "invalid_input")
    assert (await api.ask("GET", "/v1/jobs")).json["items"] == []


@pytest.mark.parametrize(
    "cron",
    ["0," * 400 + "0 * * * *", "0-59/1," * 100 + "0 * * * *", "*/0 * * * *", "0-99999999999 * * * *", "1e9 * * * *",
     "* " * 400, "L * * * *", "0 0 * * 1#2", "0 0 1 1 * 2000-9999999", "@every 1m", "mon," * 200 + "mon"],
)  # fmt: skip
async def test_a_hostile_schedule_is_refused_or_answered_in_no_time(api: World, cron: str) -> None:
    async with asyncio.timeout(2):
        for path, body in (
            ("/v1/schedule/preview", {"schedule": {"cron": cron}, "n": 1000}),
            ("/v1/jobs", {"target": {"shell": "x"}, "schedule": {"cron": cron}}),
        ):
            answer = await api.ask("POST", path, body)
            assert answer.status in (200, 201) or is_problem(answer, 422, "invalid_input")


async def test_a_body_that_is_too_large_is_refused_before_it_has_come(api: World) -> None:
    assert is_problem(await api.ask("POST", "/v1/jobs", b" " * (1 << 20) + b"{}"), 413, "too_large")
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000000\r\n\r\n"
    assert is_problem(parsed(await api.raw(head)), 413, "too_large")


async def test_a_body_in_chunks_has_the_same_limit(api: World) -> None:
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    assert is_problem(parsed(await api.raw(head + chunk * 17 + b"0\r\n\r\n")), 413, "too_large")


async def test_a_good_body_in_chunks_and_one_that_asks_first_are_taken(api: World) -> None:
    data = json.dumps(BODY).encode()
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = parsed(await api.raw(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)))
    assert answer.status == 201
    head = b"DELETE /v1/jobs/greet HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert parsed(await api.raw(head)).status == 204
    head = (
        b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    )
    reader, writer = await api.connect(head % len(data))
    async with asyncio.timeout(5):
        assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        writer.write(data)
        assert b"201 Created" in await reader.read()


@pytest.mark.parametrize(
    "headers",
    [b"X-Long: " + b"x" * 9000, b"\r\n".join(b"X-%d: %s" % (number, b"x" * 300) for number in range(90)),
     b"\r\n".join(b"X-%d: 1" % number for number in range(200)), b"X" * 20_000 + b": 1"],
)  # fmt: skip
async def test_headers_over_the_limit_are_refused_and_the_connection_closed(api: World, headers: bytes) -> None:
    answer = parsed(await api.raw(b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n\r\n"))
    assert is_problem(answer, 431)


async def test_a_header_of_megabytes_ends_the_connection(api: World) -> None:
    reader, writer = await api.connect(b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX: ")
    writer.write(b"y" * 50_000_000)
    async with asyncio.timeout(10):
        (got,) = await asyncio.gather(reader.read(), return_exceptions=True)
    assert isinstance(got, ConnectionError) or is_problem(parsed(got), 431)
    assert (await api.ask("GET", "/v1/health/live")).status == 200


async def test_headers_that_never_end_are_refused(api: World) -> None:
    assert is_problem(parsed(await asyncio.to_thread(_endless_head, api.places.socket)), 431)


def _endless_head(path: str) -> bytes:
    """What comes back when headers are written until nobody takes them any more.

    A plain socket: a stream of asyncio throws away what it has read once a write has failed.
    """
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(10)
        channel.connect(path)
        with contextlib.suppress(ConnectionError):
            channel.sendall(b"GET /v1/jobs HTTP/1.1\r\n")
            while True:
                channel.sendall(b"X-A: 1\r\n" * 100)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while data := channel.recv(65_536):
                answer += data
        return answer


@pytest.mark.parametrize(
    "garbage",
    [b"\0" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"HELLO\r\n\r\n", b"GET\r\n\r\n",
     b"GET / HTTP/9.9\r\n\r\n",
     b"\xff\xff\xff\xff" * 50, b"GET /v1/jobs HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"\r\n\r\n\r\nx\r\n\r\n",
     b"GET /v1/jobs HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", b"G E T / HTTP/1.1\r\n\r\n",
     b"POST /v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
     b"POST /v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
     b"GET /v1/jobs HTTP/1.1\r\nBad Header\r\n\r\n",
     b"GET /v1/jobs HTTP/1.1\r\nA: b\0c\r\n\r\n"],
)  # fmt: skip
async def test_bytes_that_are_no_http_get_an_answer_and_a_close(api: World, garbage: bytes) -> None:
    answer = parsed(await api.raw(garbage))
    assert is_problem(answer, 400)
    assert (await api.ask("GET", "/v1/health/live")).status == 200


@pytest.mark.parametrize(
    "path",
    ["/v1/runs/..%2f..%2fetc%2fpasswd/log", "/v1/runs/x%2f../log", "/v1/runs/-1/log", "/v1/runs/1e3/log",
     "/v1/runs/%00/log", "/v1/runs/" + "9" * 400, "/v1/runs/%D9%A3", "/v1/runs/1%0d%0aX:%201", "/v1/jobs/%00",
     "/v1/jobs/%ff",
     "/v1/jobs/" + "x" * 3000, "/v1/runs/0x10/attempts", "/v1/jobs/a%0Ab/runs"],
)  # fmt: skip
async def test_an_id_that_can_be_none_is_refused(api: World, path: str) -> None:
    assert is_problem(await api.ask("GET", path), 422, "invalid_input")


@pytest.mark.parametrize(
    "path",
    ["/", "//", "/v1", "/v2/jobs", "/v1/jobs/", "/v1/jobs//runs", "/v1/jobs/../runs/1/log/x",
     "/v1/runs/../../etc/passwd",
     "/v1/jobs/..%2f..%2fetc%2fpasswd", "/v1/runs/999999999999", "/v1/jobs/nobody/ledger", "/v1/jobs/%2e%2e"],
)  # fmt: skip
async def test_a_path_that_leads_nowhere_is_not_found(api: World, path: str) -> None:
    assert is_problem(await api.ask("GET", path), 404, "not_found")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
async def test_another_method_on_a_known_path_says_which_are_possible(api: World, route: Any) -> None:
    answer = await api.ask("OPTIONS", route.path.replace("{}", "1"))
    assert is_problem(answer, 405)
    assert route.method in answer.headers["allow"]


@pytest.mark.parametrize(
    "target",
    ["/v1/jobs?limit=0", "/v1/jobs?limit=1001", "/v1/jobs?limit=x", "/v1/jobs?limit=" + "9" * 100,
     "/v1/jobs?nonsense=1",
     "/v1/jobs?cursor=x", "/v1/jobs?cursor=W10", "/v1/jobs?done=perhaps", "/v1/runs?cursor=" + "9" * 50,
     "/v1/runs?cursor=" + "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "/v1/runs?before=yesterdayish", "/v1/runs/1?wait=-1",
     "/v1/runs/1?wait=nan", "/v1/runs/1?wait=inf", "/v1/runs/1/log?offset=" + "9" * 40, "/v1/runs/1/log?follow=2",
     "/v1/events?after=-1", "/v1/events?after=x", "/v1/jobs?q=%ff",
     "/v1/jobs?" + "&".join(f"q={n}" for n in range(100)),
     "/v1/status?x=1", "/v1/health/live?x", "/v1/jobs/1/next?n=1000000000", "/v1/jobs/1/ledger?cursor=9.9.9",
     "/v1/jobs/1/ledger?from=" + "1" * 500, "/v1/jobs/1/next?n=-1", "/v1/dead?limit=0", "/v1/dead?class=sad",
     "/v1/dead?cursor=x", "/v1/dead?q=", "/v1/dead?q=" + "x" * 501, "/v1/dead?since=yesterdayish", "/v1/dead?job=%00",
     "/v1/dead/groups?cursor=x", "/v1/dead/groups?limit=9999", "/v1/queues?limit=1"],
)  # fmt: skip
async def test_a_query_that_is_not_right_is_refused(api: World, target: str) -> None:
    await api.add()
    await api.claimed("other")
    assert is_problem(await api.ask("GET", target), 422, "invalid_input")


@pytest.mark.case("F134")
async def test_a_query_on_a_verb_that_changes_something_is_never_ignored(api: World) -> None:
    await api.add()
    for method, target in (
        ("POST", "/v1/jobs/greet/pause?only=me"),
        ("POST", "/v1/jobs/greet/runs?dry_run=1"),
        ("DELETE", "/v1/jobs/greet?runs=keep"),
        ("DELETE", "/v1/jobs/greet?cascade=0"),
        ("POST", "/v1/daemon/stop?when=later"),
        ("PATCH", "/v1/jobs/greet?dryrun=1"),
        ("POST", "/v1/jobs/greet/skip?count=2"),
        ("POST", "/v1/daemon/pause?until=never"),
        ("PUT", "/v1/queues/default?concurrency=1"),
        ("POST", "/v1/dead/replay?all=1"),
        ("POST", "/v1/dead/discard?all=1"),
        ("POST", "/v1/runs/1/retry?force=1"),
        ("POST", "/v1/jobs/import?force=1"),
    ):
        assert is_problem(await api.ask(method, target, b'{"jobs":[]}'), 422, "invalid_input")
    assert (await api.ask("GET", "/v1/jobs/greet")).json["paused"] is False
    assert api.stopped == 0


@pytest.mark.parametrize("key", ["", "ä", "x" * 256])
async def test_a_key_that_cannot_be_kept_is_refused(api: World, key: str) -> None:
    assert is_problem(await api.ask("POST", "/v1/jobs", BODY, Idempotency_Key=key), 422, "invalid_input")


@pytest.mark.case("F134")
async def test_another_protocol_is_refused_but_can_still_ask_for_status_and_stop(api: World) -> None:
    for protocol in ("0", "2", "x", "1.0", "99999999"):
        answer = await api.ask("POST", "/v1/jobs", BODY, Jobctl_Protocol=protocol)
        assert is_problem(answer, 400, "version_mismatch")
        assert (await api.ask("GET", "/v1/status", Jobctl_Protocol=protocol)).status == 200
        assert (await api.ask("POST", "/v1/daemon/stop", Jobctl_Protocol=protocol)).status == 202
    assert (await api.ask("GET", "/v1/jobs", Jobctl_Protocol="1")).json["items"] == []


async def test_an_error_of_ours_is_a_number_and_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(tmp_path) as api:

        async def broken(*_: Any) -> Any:
            raise ZeroDivisionError("a secret in a message")

        monkeypatch.setattr(api.store, "jobs", broken)
        answer = await api.ask("GET", "/v1/jobs")
        assert is_problem(answer, 500, "internal")
        assert b"secret" not in answer.body


# ── many, slow and silent ones ──────────────────────────────────────────────


async def test_three_hundred_idle_connections_do_not_keep_anybody_out(api: World) -> None:
    for _ in range(300):
        await api.connect()
    async with asyncio.timeout(1):
        assert (await api.ask("GET", "/v1/jobs")).status == 200
    assert len(api.server.door) <= 256


async def test_busy_connections_are_not_closed_for_new_ones(tmp_path: Path) -> None:
    async with world(tmp_path, connections=3) as api:
        streams = [await api.connect(b"GET /v1/events HTTP/1.0\r\n\r\n") for _ in range(3)]
        for reader, _ in streams:
            assert b"200" in await reader.readline()
        assert is_problem(await api.ask("GET", "/v1/jobs"), 503, "unavailable")
        streams[0][1].close()
        await streams[0][1].wait_closed()
        assert (await api.ask("GET", "/v1/jobs")).status == 200


async def test_a_head_that_drips_is_cut_off(api: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ARRIVE_S", 0.1)
    monkeypatch.setattr(door, "SWEEP_S", 0.02)
    assert is_problem(parsed(await api.raw(b"GET /v1/jobs HTTP/1.1\r\nHo")), 408)


async def test_a_body_that_never_comes_is_cut_off(api: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobctl_daemon.api.call.ARRIVE_S", 0.1)
    monkeypatch.setattr(connection, "LINGER_S", 0.1)
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    assert is_problem(parsed(await api.raw(head)), 408)


async def test_a_reader_who_leaves_its_answers_lying_is_dropped(api: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "STALL_S", 0.1)
    monkeypatch.setattr(door, "SWEEP_S", 0.02)
    drafts = [{"target": {"shell": "x" * 900}, "name": f"j{number}"} for number in range(900)]
    await api.ask("POST", "/v1/jobs/import", {"jobs": drafts})
    _, writer = await api.connect()
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    for _ in range(20):
        writer.write(b"GET /v1/jobs?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(10):
        while len(api.server.door) > 0:
            await asyncio.wait([asyncio.ensure_future(api.ask("GET", "/v1/health/live"))])
            await asyncio.wait([asyncio.ensure_future(_turns(50))])


async def _turns(count: int) -> None:
    """Lets the loop turn."""
    for _ in range(count):
        await asyncio.wait([asyncio.get_running_loop().run_in_executor(None, int)])


@pytest.mark.case("F094")
async def test_a_thousand_clients_that_hang_up_in_the_middle_harm_nobody(api: World) -> None:
    for number in range(1000):
        channel = socket.socket(socket.AF_UNIX)
        channel.connect(api.places.socket)
        channel.send(b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"[: 10 + number % 30])
        channel.close()
        if number % 50 == 0:
            assert (await api.ask("GET", "/v1/health/live")).status == 200
    assert (await api.ask("GET", "/v1/jobs")).status == 200


async def test_many_requests_on_one_connection_are_answered_in_order(api: World) -> None:
    await api.add()
    asked = [b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path for path in (b"/v1/jobs/greet", b"/nowhere")] * 200
    data = await api.raw(b"".join(asked) + b"GET /v1/jobs HTTP/1.0\r\n\r\n")
    assert data.count(b"HTTP/1.1 200 OK") == 200
    assert data.count(b"HTTP/1.1 404 Not Found") == 200
    assert data.count(b"HTTP/1.0 200 OK") == 1


async def test_a_body_left_unread_is_not_taken_for_the_next_request(api: World) -> None:
    inner = b"DELETE /v1/jobs/greet HTTP/1.1\r\n\r\n"
    await api.add()
    for method, path in ((b"GET", b"/v1/jobs"), (b"POST", b"/nowhere"), (b"GET", b"/v1/jobs/greet")):
        head = method + b" " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(inner)
        await api.raw(head + inner + b"GET /v1/health/live HTTP/1.0\r\n\r\n")
    assert (await api.ask("GET", "/v1/jobs/greet")).status == 200


# ── who calls ──────────────────────────────────────────────


ASK = """
import socket, sys
channel = socket.socket(socket.AF_UNIX)
channel.connect(sys.argv[1])
channel.sendall(sys.stdin.buffer.read())
while data := channel.recv(65536):
    sys.stdout.buffer.write(data)
"""


def as_nobody(path: str, request: bytes) -> bytes:
    """The answer that another user gets, or why there is none."""
    python = os.path.realpath(sys.executable)  # a virtual environment may lie where nobody may go
    asked = subprocess.run(
        [python, "-I", "-S", "-c", ASK, path], input=request, capture_output=True, user=65_534, group=65_534, cwd="/"
    )
    return asked.stdout or asked.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
async def test_another_user_is_refused_by_what_the_kernel_says(tmp_path: Path) -> None:
    async with world(tmp_path, real=True) as api:
        await refuse_a_stranger(api)


async def refuse_a_stranger(api: World) -> None:
    opened = Path("/tmp") / f"jobctl-test-{os.getpid()}.sock"
    server = await asyncio.get_running_loop().create_unix_server(api.server._http, str(opened))
    opened.chmod(0o666)
    try:
        body = b'{"target":{"shell":"id"},"user":"root"}'
        head = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
        answer = parsed(await asyncio.to_thread(as_nobody, str(opened), head + body))
    finally:
        server.close()
        opened.unlink()
    assert is_problem(answer, 403, "forbidden")
    assert "daemon start" in answer.json["hint"]
    assert (await api.ask("GET", "/v1/jobs")).json["items"] == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
async def test_another_user_cannot_even_reach_a_private_socket(api: World) -> None:
    data = await asyncio.to_thread(as_nobody, api.places.socket, b"GET /v1/jobs HTTP/1.0\r\n\r\n")
    assert b"Permission denied" in data


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
async def test_the_socket_is_private_from_the_first_moment(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    real = listen._bind

    def watched(channel: socket.socket, path: str, mode: int) -> None:
        real(channel, path, mode)
        modes.append(stat.S_IMODE(os.stat(path).st_mode))

    monkeypatch.setattr(listen, "_bind", watched)
    before = os.umask(umask)
    try:
        async with world(tmp_path) as api:
            assert os.umask(umask) == umask
            assert modes == [0o600]
            assert stat.S_IMODE(os.stat(api.places.socket).st_mode) == 0o600
            assert stat.S_IMODE(os.stat(os.path.dirname(api.places.socket)).st_mode) == 0o700
    finally:
        os.umask(before)
