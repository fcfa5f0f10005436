"""What is done to jobs at once, each with the way back: both are called in threads, with a client."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jobctl.client.sync import Client
from jobctl_tui.live.aim import Aim, Done, Going, each

Json = dict[str, Any]


class Change(NamedTuple):
    """`undo` takes back what `work` has done, and only that: what was refused, or was so before, stays as it is."""

    work: Callable[[Client], Done]
    undo: Callable[[Client], Done]
    going: Going
    """Of `work`: how many it has come to."""


def pause(aims: Sequence[Aim], until: str | None = None, why: str | None = None) -> Change:
    """`until` is an instant or a text as of `jobctl pause --until`."""
    before: dict[int, Json] = {}

    def one(client: Client, aim: Aim) -> Json:
        before[aim.id] = client.job(aim.id)
        return client.pause_job(aim.id, until, why)

    def back(client: Client, aim: Aim) -> Json:
        was = before[aim.id]
        if was["paused"]:
            return client.pause_job(aim.id, was["paused_until"], was["paused_why"])
        return client.resume_job(aim.id)

    return _change(aims, one, back)


def resume(aims: Sequence[Aim]) -> Change:
    """The way back is the pause that was, with its reason and its end."""
    before: dict[int, Json] = {}

    def one(client: Client, aim: Aim) -> Json:
        before[aim.id] = client.job(aim.id)
        return client.resume_job(aim.id)

    def back(client: Client, aim: Aim) -> Json:
        return client.pause_job(aim.id, before[aim.id]["paused_until"], before[aim.id]["paused_why"])

    return _change(aims, one, back)


def run(aims: Sequence[Aim]) -> Change:
    """The way back is to cancel the runs that it has made."""
    made: dict[int, int] = {}

    def one(client: Client, aim: Aim) -> Json:
        found = client.trigger(aim.id, {})
        made[aim.id] = int(found["id"])
        return found

    return _change(aims, one, lambda client, aim: client.cancel_run(made[aim.id]))


def skip(aims: Sequence[Aim]) -> Change:
    """The way back takes all that is left out back, also what somebody has left out before."""
    return _change(aims, lambda client, aim: client.skip_next(aim.id), lambda client, aim: client.unskip(aim.id))


def unskip(aims: Sequence[Aim]) -> Change:
    return _change(aims, lambda client, aim: client.unskip(aim.id), lambda client, aim: client.skip_next(aim.id))


def kill(runs: Sequence[Aim]) -> Callable[[Client], Done]:
    """Runs, by their ids."""
    return lambda client: each(client, runs, lambda client, aim: client.kill_run(aim.id))


def again(runs: Sequence[Aim]) -> Callable[[Client], Done]:
    """Runs that failed: a waiting retry at once, a dead letter under its key, of others a new run."""
    return lambda client: each(client, runs, lambda client, aim: client.retry_run(aim.id))


def delete(aims: Sequence[Aim], *, cancel_runs: bool) -> Callable[[Client], Done]:
    return lambda client: each(client, aims, lambda client, aim: client.delete_job(aim.id, cancel_runs=cancel_runs))


def _change(aims: Sequence[Aim], one: Callable[[Client, Aim], Any], back: Callable[[Client, Aim], Any]) -> Change:
    changed: list[Aim] = []
    going = Going()

    def work(client: Client) -> Done:
        outcome = each(client, aims, one, going)
        changed[:] = [aim for aim, _ in outcome.done]
        return outcome

    return Change(work, lambda client: each(client, changed, back), going)
