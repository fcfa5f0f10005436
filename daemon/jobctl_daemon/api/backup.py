"""POST /v1/backup: the whole database, as it is at one instant, as the bytes of a checked copy.

The daemon writes no file that a caller names: it makes the copy in its own folder, takes its name away and sends what
is in it. So the caller's file is written with the caller's rights, in the caller's view of the file system, whatever
sandbox the daemon is in.
"""

import asyncio
import hashlib
import os
import secrets
from typing import Final

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl_daemon.api.answers import stream
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.rights import must_run_it

_CHUNK: Final = 1 << 20
#: The note of the newest copy that somebody got whole.
NOTE: Final = "backup"


class Note(msgspec.Struct, frozen=True):
    """What is remembered of a copy, for `jobctl doctor`."""

    at_ms: int
    bytes: int


async def backup(call: Call) -> StreamResponse:
    """Sends the copy; its headers say what it is. It holds everybody's jobs, so it is for who runs the daemon."""
    call.query(NoQuery)
    must_run_it(call.caller, call.services.host.uid)
    now_ms = call.now_ms
    store, folder = call.services.store, call.services.places.state_dir
    path = os.path.join(folder, f"copy-{secrets.token_hex(4)}.tmp")
    copied = await store.copy(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.unlink(path)  # from here on nothing is left of it, however this ends
        headers = {
            "Content-Length": str(copied.bytes),
            "Jobctl-Backup-Schema": str(copied.schema),
            "Jobctl-Backup-Jobs": str(copied.jobs),
            "Jobctl-Backup-Runs": str(copied.runs),
            "Jobctl-Backup-At": wire.rfc3339(now_ms),
            "Jobctl-Backup-Sha256": await asyncio.to_thread(_digest, descriptor),
        }
        response = stream("application/vnd.sqlite3", headers)
        await response.prepare(call.request)
        await _send(response, descriptor)
    finally:
        os.close(descriptor)
    await store.set_meta({NOTE: wire.encode(Note(at_ms=now_ms, bytes=copied.bytes)).decode()})
    return response


async def _send(response: StreamResponse, descriptor: int) -> None:
    at = 0
    while data := await asyncio.to_thread(os.pread, descriptor, _CHUNK, at):
        await response.write(data)
        at += len(data)
    await response.write_eof()


def _digest(descriptor: int) -> str:
    found, at = hashlib.sha256(), 0
    while data := os.pread(descriptor, _CHUNK, at):
        found.update(data)
        at += len(data)
    return found.hexdigest()
