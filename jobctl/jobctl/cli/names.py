"""The names of jobs for completions, in a file of the user's: so that TAB is answered at once, also without a daemon.

A file for each daemon, in the cache folder, private, at most a thousand names. Whoever lists all jobs writes it. It is
taken as it is for a few seconds; after that the daemon is asked for the number of its newest event, and whether any of
those since was about a job. Only then the names are read again. A daemon that does not answer leaves the file in use
for a day.
"""

import contextlib
import json
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobctl.cli.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobctl.cli.session import Session

_FRESH_MS: Final = 5_000
_OLD_MS: Final = 86_400_000
_MOST: Final = 1_000
_BYTES_MAX: Final = 1 << 20
#: So many events since are asked through; after more it is cheaper to read the names.
_EVENTS_MAX: Final = 2_000
#: After these a list of names may be another one.
_KINDS: Final = "job.created,job.edited,job.deleted,job.done,owner,daemon.restored"
#: What comes of an answer that is none of the daemon's.
_JUNK: Final = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
_FLAGS: Final = os.O_NOFOLLOW | os.O_CLOEXEC

Candidate = tuple[str, str]
#: The body of the daemon's answer to a GET; None when there is none in time.
Ask = Callable[[str], bytes | None]


class Names(NamedTuple):
    """What the file holds. `event`: the newest when they were read; None: not known. `whole`: there are no more."""

    at_ms: int
    event: int | None
    whole: bool
    jobs: list[Candidate]


def offered(world: World, sockets: Sequence[str], current: str, ask: Ask) -> list[Candidate]:
    """Names and schedules of jobs for a word that begins so."""
    path = _path(world.environ, world.uid, sockets)
    now_ms = world.clock.now_ms()
    found = _read(path)
    if found is not None and not 0 <= now_ms - found.at_ms < _FRESH_MS:
        found = _still_so(found, path, now_ms, ask)
    if found is None:
        found = _asked(path, now_ms, ask)
    if found.whole or not current:
        return found.jobs
    from urllib.parse import urlencode

    from jobctl.filters import quoted

    query = urlencode({"q": quoted(current), "limit": _MOST}, errors="surrogateescape")
    return _parsed(ask(f"/v1/jobs?{query}")) or found.jobs


def kept(session: "Session", jobs: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Passes all jobs on, and keeps their names once the last one went by."""
    names: list[Candidate] = []
    whole = True
    for job in jobs:
        if len(names) < _MOST:
            names.append(_candidate(job))
        else:
            whole = False
        yield job
    world = session.world
    if session.common.socket is None:
        path = _path(world.environ, world.uid, session.places.sockets)
        _write(path, Names(world.clock.now_ms(), None, whole, names))


def _still_so(found: Names, path: str, now_ms: int, ask: Ask) -> Names | None:
    """The same, when nothing has happened to a job since, or nobody can say so; None: they have to be read again."""
    newest = _newest(ask)
    if newest is None:
        return found if 0 <= now_ms - found.at_ms < _OLD_MS else Names(now_ms, None, True, [])
    if found.event is None or not 0 <= newest - found.event <= _EVENTS_MAX:
        return None
    if newest > found.event:
        told = ask(f"/v1/events?after={found.event}&follow=0&kind={_KINDS}")
        if told is None or b"\ndata:" in told:
            return None
    again = found._replace(at_ms=now_ms, event=newest)
    _write(path, again)
    return again


def _asked(path: str, now_ms: int, ask: Ask) -> Names:
    newest = _newest(ask)
    body = ask(f"/v1/jobs?limit={_MOST}") if newest is not None else None
    jobs = _parsed(body)
    if body is None or jobs is None:
        return Names(now_ms, None, True, [])
    found = Names(now_ms, newest, json.loads(body).get("next") is None, jobs)
    _write(path, found)
    return found


def _newest(ask: Ask) -> int | None:
    """The number of the daemon's newest event, read before anything else is."""
    try:
        return int(json.loads(ask("/v1/status") or b"{}")["last_event"])
    except _JUNK:
        return None


def _parsed(body: bytes | None) -> list[Candidate] | None:
    try:
        return [_candidate(job) for job in json.loads(body or b"")["items"]]
    except _JUNK:
        return None


def _candidate(job: Mapping[str, Any]) -> Candidate:
    return str(job["name"]), str((job.get("schedule") or {}).get("words", "by hand"))


# ── the file ──────────────────────────────────────────────


def _path(environ: Mapping[str, str], uid: int, sockets: Sequence[str]) -> str:
    """A file for who asks and what would answer; empty where there is no home to keep it in."""
    base = environ.get("XDG_CACHE_HOME") or (os.path.join(environ["HOME"], ".cache") if environ.get("HOME") else "")
    if not os.path.isabs(base):
        return ""
    asked = "\0".join([str(uid), *sockets]).encode("utf-8", "surrogateescape")
    return os.path.join(base, "jobctl", f"names-{zlib.crc32(asked):08x}.json")


def _read(path: str) -> Names | None:
    """What is in it, where it is this user's own and nobody else could have written it."""
    if not path:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _FLAGS)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            return None
        return _names(json.loads(os.read(descriptor, _BYTES_MAX)))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(descriptor)


def _names(stored: Any) -> Names | None:
    """What `_write` has written, and nothing that only looks like it."""
    match stored:
        case [int(at_ms), int() | None as event, bool(whole), [*jobs]] if all(map(_is_candidate, jobs)):
            return Names(at_ms, event, whole, [(name, words) for name, words in jobs])
    return None


def _is_candidate(each: object) -> bool:
    match each:
        case [str(), str()]:
            return True
    return False


def _write(path: str, names: Names) -> None:
    """Whole, under another name first. Where that cannot be there is no cache; in no case is it a verb's trouble."""
    if not path or not _may_write(os.path.dirname(path)):
        return
    data = json.dumps(names).encode("utf-8", "backslashreplace")
    if len(data) > _BYTES_MAX:
        return
    draft = f"{path}.{os.getpid()}"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
        os.rename(draft, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(draft)


def _may_write(folder: str) -> bool:
    """The folder, and the cache folder above it, are made in what is the user's own, never in somebody else's: a sudo
    has the other's HOME."""
    parent = os.path.dirname(folder)
    return _is_own(os.path.dirname(parent), parent) and _is_own(parent, folder)


def _is_own(above: str, folder: str) -> bool:
    try:
        if not os.path.isdir(folder) and os.stat(above).st_uid == os.geteuid():
            os.mkdir(folder, 0o700)
        found = os.stat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
