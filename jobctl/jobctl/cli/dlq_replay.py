"""`jobctl dlq replay`: dead letters run again, under the same id and key."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from jobctl.cli import describe, outdated, over
from jobctl.cli.asking import confirm
from jobctl.cli.dead import AT_ONCE_MAX, All, DeadFilter, Wanted, Which, Yes, count_words, parts, wanted
from jobctl.cli.ending import CommandEnded, Ended, How
from jobctl.cli.options import grouped
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import Conflict, InvalidInput, NotFound

EXAMPLES = (
    ("jobctl dlq replay 4812", "one, as it was recorded"),
    ("jobctl dlq replay import --current --yes", "those of a job, with what it is now"),
    ("jobctl dlq replay --class timed_out --since 24h --pace 5s --stop-on-failure", "a few at a time; asks first"),
    ("jobctl dlq replay 4812 --edit", "with another command, environment or input"),
    ("jobctl dlq replay 4812 --key repair-1", "the same key never does it twice"),
)
_HOW: Final = "How"
_SHOWN: Final = 8
#: Requests of a thousand each that take long enough to say how far they are.
_LONG: Final = 2


@grouped
def verb(
    ctx: typer.Context,
    narrowed: DeadFilter,
    which: Which = None,
    everything: All = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="at most so many, the oldest first")
    ] = None,
    pace: Annotated[
        str | None,
        typer.Option("--pace", metavar="DURATION", help="so long between two starts", rich_help_panel=_HOW),
    ] = None,
    stop_on_failure: Annotated[
        bool,
        typer.Option("--stop-on-failure", help="one after the other, until one dies again", rich_help_panel=_HOW),
    ] = False,
    current: Annotated[bool, typer.Option("--current", help="with what the job is now", rich_help_panel=_HOW)] = False,
    as_recorded: Annotated[
        bool, typer.Option("--as-recorded", help="with what the job was then (this is so)", rich_help_panel=_HOW)
    ] = False,
    edit: Annotated[
        bool,
        typer.Option(
            "--edit",
            help="change what it ran (with --current: what its job is now) in $EDITOR first",
            rich_help_panel=_HOW,
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="several, though their last two replays died again", rich_help_panel=_HOW)
    ] = False,
    key: Annotated[
        str | None,
        typer.Option("--key", "--idempotency-key", metavar="KEY", help="the same key does it once, and answers so"),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="until they are over; end with the first bad exit code")] = False,
    yes: Yes = False,
) -> None:
    """Replay dead letters. Each keeps its id and its key, gets a higher fence, and its retries anew."""
    session: Session = ctx.obj
    if current and as_recorded:
        raise InvalidInput("--current and --as-recorded exclude each other", "leave one of them out")
    if pace is not None:
        from jobctl.cli.draft import duration_ms

        duration_ms("--pace", pace)
    client = session.writer()
    chosen = wanted(session, client, which, narrowed, every=everything)
    how: dict[str, Any] = {"pace": pace, "stop_on_failure": stop_on_failure, "current": current, "force": force}
    how = {name: value for name, value in how.items() if value}
    if edit:
        edited = _edit(session, client, chosen, current=current, yes=yes)
        how |= {"edit": edited} if edited else {}
    plain = not (current or as_recorded or edit)
    bodies, told = _bodies(session, client, chosen, limit, keyed=key is not None, yes=yes, plain=plain)
    if len(bodies) > 1 and (pace or stop_on_failure):
        raise InvalidInput(f"--pace and --stop-on-failure go with up to {AT_ONCE_MAX}", f"say --limit {AT_ONCE_MAX}")
    answers = _all_replayed(session, client, [{**body, **how} for body in bodies], key)
    done = _together(answers)
    _print(session, chosen, done, quiet=wait)
    if plain and not told and not session.render.machine:
        _tell_of_edits(session, client, outdated.named(client, done["replayed"]))
    if wait:
        _wait(session, client, done["replayed"])
    if done["skipped"] and not done["replayed"]:
        raise NotFound(_refused(done["skipped"][0]), "see jobctl dlq ls --runs")
    if done["skipped"]:
        raise Ended(How.PARTLY)


def _bodies(
    session: Session, client: Client, chosen: Wanted, limit: int | None, *, keyed: bool, yes: bool, plain: bool
) -> tuple[list[dict[str, Any]], bool]:
    """What is sent: the runs that a person was asked about, by their ids; and whether that person was told of edits.

    Under a key it is the filter itself, so that a repetition asks for the same.
    """
    capped = {"limit": limit} if limit is not None else {}
    if not chosen.bulk:
        return [{**chosen.fields, **capped}], False
    found = list(client.dead(**chosen.filters))[::-1][:limit]
    ids = [run["id"] for run in found]
    asks = bool(ids) and not yes
    if asks:
        text = count_words(len(ids))
        if plain and session.world.interactive():
            _tell_of_edits(session, client, found)
        confirm(session, f"replay {text}", f"replays {text}", "replayed")
    return [{**chosen.fields, **capped}] if keyed else [{"ids": part} for part in parts(ids)], asks


def _tell_of_edits(session: Session, client: Client, runs: list[dict[str, Any]]) -> None:
    words = outdated.words_of(client, runs)
    if words:
        session.render.word(words)


def _all_replayed(
    session: Session, client: Client, bodies: list[dict[str, Any]], key: str | None
) -> list[dict[str, Any]]:
    if len(bodies) < _LONG:
        return [_replayed(client, body, key) for body in bodies]
    from jobctl.cli.progress import Progress

    answers = []
    with Progress(session, "replay", total=len(bodies) * AT_ONCE_MAX, unit="dead letters") as progress:
        for body in bodies:
            answers.append(_replayed(client, body, key))
            progress.add(AT_ONCE_MAX)
    return answers


def _replayed(client: Client, body: dict[str, Any], key: str | None) -> dict[str, Any]:
    """The answer; an error of the API says which option it is about."""
    try:
        return client.replay(body, key)
    except Conflict as error:
        if "force" not in error.hint:
            raise
        raise Conflict(error.message, "mend the cause and replay one of them first, or say --force") from error


def _together(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Several answers as one; its batch is the last."""
    return {
        "batch": answers[-1]["batch"] if answers else None,
        "replayed": [ident for answer in answers for ident in answer["replayed"]],
        "skipped": [skipped for answer in answers for skipped in answer["skipped"]],
    }


def _print(session: Session, chosen: Wanted, done: dict[str, Any], *, quiet: bool) -> None:
    render, ids = session.render, done["replayed"]
    if render.output in {"json", "ndjson"}:
        render.json(done)
    elif render.machine:
        render.names(map(str, ids))
    elif ids:
        shown = " ".join(map(str, ids[:_SHOWN])) + (" …" if len(ids) > _SHOWN else "")
        if len(ids) == 1:
            render.line(f"replayed run {ids[0]}, under its key")
            follow = f"jobctl log {ids[0]} -f"
        else:
            render.line(f"replayed {count_words(len(ids))}: {shown}")
            follow = "jobctl runs --state scheduled,ready,running"
        if render.out.terminal and not quiet:
            render.word(f"watch: {follow}")
    elif chosen.bulk and not done["skipped"]:
        render.word("no dead letter matches")
    if ids:
        for skipped in done["skipped"]:
            render.word(f"failed: {_refused(skipped)}")


def _refused(skipped: dict[str, Any]) -> str:
    return f"run {skipped['id']} was not replayed: {skipped['reason']}"


def _wait(session: Session, client: Client, ids: list[int]) -> None:
    """As `jobctl wait` does; words only, the data were printed. What was put back has not run: it is only counted."""
    from jobctl.cli.follow import until_over
    from jobctl.cli.progress import Progress

    ended = []
    total = len(ids) if len(ids) > 1 else None  # of one nobody knows how far it is
    with Progress(session, "replay", total=total, unit="runs") as progress:
        for ident in ids:
            ended.append(until_over(session, client, client.run(ident)))
            progress.add(1 if total else 0)
    ran = [run for run in ended if not run["put_back"]]
    for run in ran:
        session.render.word(over.words(run, session.viewer))
    back = [run for run in ended if run["put_back"]]
    if back:
        session.render.word(f"{count_words(len(back))} put back: run {back[0]['put_back']['run']} died again")
    over.tell_next(session, ran)
    bad = [run for run in (*ran, *back) if run["state"] != "succeeded"]
    if bad:
        raise CommandEnded(bad[0])


def _edit(session: Session, client: Client, chosen: Wanted, *, current: bool, yes: bool) -> dict[str, Any]:
    """What a person changes of the work of one dead letter; empty: nothing."""
    from jobctl.cli import editor
    from jobctl.cli.edited_work import as_text, changes

    ids = chosen.fields.get("ids", ())
    if len(ids) != 1:
        raise InvalidInput("--edit is for one run", "name it by its id", field="--edit")
    if not session.world.interactive() and not yes:
        hint = "leave --edit out; or say --yes, with EDITOR set to a program that needs none"
        raise InvalidInput("there is no terminal to edit on", hint, field="--edit")
    run = client.run(ids[0])
    if run["state"] != "dead":
        raise NotFound(f"run {ids[0]} is no dead letter: {describe.ended(run)}", "see jobctl dlq ls --runs")
    work = client.job(run["job_id"]) if current else client.work(run["id"])
    found: dict[str, Any] = {}

    def take(text: str) -> bool:
        try:
            found.update(changes(work, text))
        except InvalidInput as error:
            if not session.world.interactive():
                raise
            if editor.wants_again(session, error):
                return False
            raise Conflict("nothing was replayed", f"edit it again: jobctl dlq replay {run['id']} --edit") from error
        return True

    editor.edit(session, as_text(work, list(_about(run, work, current=current))), take)
    if not found:
        as_it_is = "as it was edited before" if work.get("edited") else "as it is"
        session.render.word(f"nothing was changed; it is replayed {as_it_is}")
    # A replay without an edit takes the recorded definition, not what was edited for the one before.
    return found or ({"target": work["target"]} if work.get("edited") else {})


def _about(run: dict[str, Any], work: dict[str, Any], *, current: bool) -> Iterator[str]:
    """What is shown in the editor, for its reader."""
    yield f"Run {run['id']} of {run['job']}: what it is replayed with, this once."
    version = f"version {work['version']} of the job"
    if current:
        yield f"Shown is {version}, of today; the run was recorded with {run['version']}."
    elif work["edited"]:
        yield f"Shown is what it was replayed with before, edited from {version}."
    else:
        yield f"Shown is what was recorded, {version}."
    yield "What you leave as it is stays as it is shown. Without a command nothing is replayed."
    if work["payload_ref"]:
        yield f"It reads {work['payload_ref']}; stdin takes its place when it is not empty."
