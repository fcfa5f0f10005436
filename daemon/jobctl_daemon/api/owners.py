"""GET /v1/owners and POST /v1/owners/{name}/rename: which accounts have jobs, and whose they are from now on.

An owner is a uid with the name it had. When an account is renamed, or made anew under another number, what it had is
nobody's until root says so.
"""

import pwd
from collections.abc import Sequence
from functools import partial

from aiohttp.web_response import StreamResponse

from jobctl.errors import InvalidInput
from jobctl.model import Owner, OwnerDraft
from jobctl_daemon.api.answers import answer, page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import checked
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.rights import must_run_it
from jobctl_daemon.patience import within
from jobctl_daemon.rows import Caller, Owning

#: So long a user directory may take, for all of them.
_DIRECTORY_S = 5.0
_NAME_CHARS_MAX = 255


async def owners(call: Call) -> StreamResponse:
    """All of them by name, on one page."""
    call.query(NoQuery)
    must_run_it(call.caller, call.services.host.uid)
    return page(await checked(_shown, await call.services.store.owners()))


async def rename(call: Call) -> StreamResponse:
    """The owner as it is then."""
    call.query(NoQuery)
    must_run_it(call.caller, call.services.host.uid)
    draft = await call.body(OwnerDraft)
    old = call.selected(call.params[0], "name")
    account = await checked(_account, draft.to)
    renamed = await call.services.store.rename_owner(old, draft.uid, account, call.caller, call.now_ms)
    call.services.changed()
    (shown,) = await checked(_shown, [renamed])
    return answer(shown)


def _account(name: str) -> Caller:
    if not 0 < len(name) <= _NAME_CHARS_MAX or "\0" in name:
        raise InvalidInput("this cannot be the name of an account", "see getent passwd", field="to")
    try:
        entry = within(_DIRECTORY_S, partial(pwd.getpwnam, name), f"who the user {name!r} is")
    except (KeyError, ValueError) as error:
        raise InvalidInput(f"there is no user {name!r} on this host", "see getent passwd", field="to") from error
    return Caller(uid=entry.pw_uid, name=entry.pw_name)


def _shown(rows: Sequence[Owning]) -> list[Owner]:
    """May ask the network, so never on the loop."""
    return within(_DIRECTORY_S, lambda: [_with_account(row) for row in rows], "who the owners are")


def _with_account(row: Owning) -> Owner:
    return Owner(uid=row.uid, name=row.name, jobs=row.jobs, account=_state(row), uid_is_now=_now(row))


def _state(row: Owning) -> str:
    """ok, gone (no such name) or other (the name has another number)."""
    try:
        return "ok" if pwd.getpwnam(row.name).pw_uid == row.uid else "other"
    except (KeyError, ValueError):
        return "gone"


def _now(row: Owning) -> str | None:
    """Whose the number is now, where that is somebody else: the account may have been renamed."""
    try:
        name = pwd.getpwuid(row.uid).pw_name
    except (KeyError, OverflowError):
        return None
    return name if name != row.name else None
