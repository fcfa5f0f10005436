"""`jobctl explain`: a schedule in words, and what clock changes do to it."""

from typing import Any

import typer

from jobctl.cli import describe
from jobctl.cli.expression import is_expression
from jobctl.cli.next import What, Zone, preview_for
from jobctl.cli.session import Session
from jobctl.reading.times import moment, no_time, of_fire

EXAMPLES = (
    ('jobctl explain "30 2 * * 1-5" --tz Europe/Berlin', "needs no daemon"),
    ("jobctl explain backup", "a job"),
)
_FIRES = 5
_INDENT = 17
_FIELDS = ("minute", "hour", "day of month", "month", "day of week")
_CHANGE_FIRES_MAX = 4


def verb(ctx: typer.Context, what: What, tz: Zone = None) -> None:
    """Tell a schedule in words: its fields, next fires, the clock changes of twelve months, and what looks odd."""
    session: Session = ctx.obj
    text = " ".join(what)
    found, job = preview_for(session, what, n=_FIRES, since=None, until=None, zone=tz)
    render = session.render
    if render.output in {"json", "ndjson"}:
        render.json(found)
        return
    if render.output in {"name", "csv"}:
        render.names([found["words"]])
        return
    render.flow(f"{found['words']}   ({found['timezone']})")
    if is_expression(text) and len(text.split()) == len(_FIELDS):
        for name, field in zip(_FIELDS, text.split(), strict=True):
            render.fact(f"  {name}", field, _INDENT)
    _fires(session, found, job)
    for index, change in enumerate(found["transitions"]):
        render.fact("  clock change" if index == 0 else "", _change(change), _INDENT)
    for warning in found["warnings"]:
        render.word(f"warning: {warning}")


def _fires(session: Session, found: dict[str, Any], job: dict[str, Any] | None) -> None:
    for index, fire in enumerate(found["items"]):
        notes = filter(None, [fire["note"], describe.held_then(job, fire["at"], session.viewer)])
        note = "".join(f"   {text}" for text in notes)
        session.render.fact(
            "  next" if index == 0 else "", f"{of_fire(fire)}, {session.viewer.ago(fire['at'])}{note}", _INDENT
        )
    if not found["items"]:
        session.render.fact("  next", no_time(found["words"]), _INDENT)


def _change(change: dict[str, Any]) -> str:
    seconds = change["offset_after"] - change["offset_before"]
    direction = "forward" if seconds > 0 else "back"
    minutes = abs(seconds) // 60
    head = f"{moment(change['local']):%Y-%m-%d} {direction} by {minutes} min"
    if change.get("words"):
        return f"{head}: {change['words']}"
    times = [str(fire["local"])[11:16] for fire in change["fires"]]
    shown = ", ".join(times[:_CHANGE_FIRES_MAX]) + (", …" if len(times) > _CHANGE_FIRES_MAX else "")
    skipped = f"; skipped {', '.join(str(local)[-5:] for local in change['skipped'])}" if change["skipped"] else ""
    return f"{head}: fires that day {shown or 'none'}{skipped}"
