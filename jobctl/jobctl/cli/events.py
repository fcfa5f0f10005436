"""`jobctl events`: every change of state, as it happens."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from jobctl.cli.select import checked_words
from jobctl.cli.session import Session
from jobctl.cli.stream import followed
from jobctl.cli.verbs import EVENT_KINDS
from jobctl.client.sync import Client
from jobctl.reading.times import Viewer, rfc3339

EXAMPLES = (
    ("jobctl events -f", "as it happens, also over a restart of the daemon"),
    ("jobctl events -f -o ndjson | jq .kind", "one object a line"),
    ("jobctl events --after 4711", "what was missed"),
)
#: What is less is a duration.
_INSTANT_MS_MIN = 1_000_000_000_000


def verb(
    ctx: typer.Context,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="go on")] = False,
    after: Annotated[
        int | None, typer.Option("--after", metavar="N", min=0, help="only those with a higher number")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="only such, as run.failed; job or run: all of them")
    ] = None,
) -> None:
    """Print events: what changed, in the order it did. Numbers only grow, so `--after` resumes."""
    session: Session = ctx.obj
    checked_words("--kind", kind, EVENT_KINDS)
    client = session.reader()
    if not follow:
        shown = list(_kept(client, after, kind))
        if session.render.output == "json":
            session.render.items(shown)
        else:
            for event in shown:
                _print(session, event)
        return
    if session.render.output == "json":
        session.common.output = session.render.output = "ndjson"
    for event in followed(session, client, after, kind):
        _print(session, event)


def _kept(client: Client, after: int | None, kind: str | None) -> Iterator[dict[str, Any]]:
    """All that there is, from the oldest that is kept unless it is to be after another."""
    for message in client.events(after=after, kind=kind):
        if message.event != "reset":
            yield json.loads(message.data)


def _print(session: Session, event: dict[str, Any]) -> None:
    render, viewer = session.render, session.viewer
    if render.output in {"json", "ndjson"}:
        render.json(event)
        return
    about = [f"job {event['job_id']}"] if event.get("job_id") is not None else []
    about += [f"run {event['run_id']}"] if event.get("run_id") is not None else []
    facts = [_fact(viewer, name, value) for name, value in event.get("data", {}).items() if value is not None]
    render.line(
        f"{event['id']:>6}  {viewer.full(event['at'])}  {event['kind']:<18}  {' '.join([*about, *facts])}".rstrip()
    )


def _fact(viewer: Viewer, name: str, value: object) -> str:
    """Instants as people read them."""
    if name.endswith("_ms") and isinstance(value, int) and value > _INSTANT_MS_MIN:
        return f"{name.removesuffix('_ms')}={viewer.clock(rfc3339(value))}"
    return f"{name}={value}"
