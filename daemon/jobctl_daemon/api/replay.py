"""POST /v1/dead/replay: dead letters run again, under the same id and key."""

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.drafts.values import milliseconds
from jobctl.drafts.work import checked_work
from jobctl.errors import InvalidInput
from jobctl.model import EditedWork, Execution, JobDraft, ReplayDraft, Target
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.dead import meant
from jobctl_daemon.api.definitions import checked, circumstances
from jobctl_daemon.api.limits import PACE_S_MAX
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.rights import must_own_work
from jobctl_daemon.drafts import Circumstances
from jobctl_daemon.rows import DeadFilter, Replay


async def replay(call: Call) -> StreamResponse:
    """What it did; the same key does nothing more and answers the same."""
    call.query(NoQuery)
    draft = await call.body(ReplayDraft)
    pace_ms = milliseconds(draft.pace, "pace") or 0
    if pace_ms > PACE_S_MAX * 1000:
        raise InvalidInput(f"a pace of over {PACE_S_MAX} s is not possible", "replay fewer at a time", field="pace")
    wanted = await meant(call, draft, draft.limit)
    asked = Replay(
        by=call.caller.name,
        pace_ms=pace_ms,
        stop_on_failure=draft.stop_on_failure,
        current=draft.current,
        force=draft.force,
        execution=None if draft.edit is None else await _edited(call, draft.edit, wanted, current=draft.current),
    )
    request = call.idempotency("replay", draft)
    replayed = await call.services.store.replay(call.caller, wanted, asked, call.now_ms, request)
    call.services.changed()
    return answer(replayed)


async def _edited(call: Call, edit: EditedWork, wanted: DeadFilter, *, current: bool) -> Execution:
    """What the one run that is meant executes this time. Variables are merged, the rest is replaced."""
    if wanted.ids is None or len(wanted.ids) != 1:
        raise InvalidInput("an edit is of one dead letter", "give its id in ids, and no other", field="edit")
    store, (run_id,) = call.services.store, wanted.ids
    job_id = (await store.run(call.caller, run_id)).job_id
    work = (await store.spec(call.caller, job_id)).execution if current else await store.work(call.caller, run_id)
    must_own_work(call.caller, await store.owner_of(call.caller, job_id), work.user)
    try:
        return await checked(_changed, work, edit, circumstances(call))
    except InvalidInput as error:
        raise InvalidInput(error.message, error.hint, field=f"edit.{error.field or ''}".rstrip(".")) from error


def _changed(work: Execution, edit: EditedWork, here: Circumstances) -> Execution:
    """The parts that are not edited were checked when they came, and stay as they are."""
    new = checked_work(
        JobDraft(
            target=edit.target or Target(command=work.command, shell=work.shell),
            stdin=work.stdin if edit.stdin is None else edit.stdin,
            env={**work.env, **(edit.env or {})},
            cwd=work.cwd if edit.cwd is None else edit.cwd,
        ),
        here,
    )
    return msgspec.structs.replace(
        work,
        command=new.command,
        shell=new.shell,
        stdin=new.stdin,
        payload_ref=work.payload_ref if edit.stdin is None else None,
        env=new.env,
        cwd=new.cwd,
    )
