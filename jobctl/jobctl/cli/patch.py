"""From the options of `edit` to the body of a PATCH: what is given replaces, what is cleared is the default again."""

from collections.abc import Mapping
from typing import Any, Final

from jobctl.cli import draft, plan
from jobctl.cli.draft import OPTIONS
from jobctl.cli.select import zone_of
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import InvalidInput

Json = dict[str, Any]

#: What --clear takes: the options' names and the API's, without dashes in front.
_FIELDS: Final = (
    {option.removeprefix("--").partition(" ")[0].replace("-", "_"): field for field, option in OPTIONS.items()}
    | {field: field for field in OPTIONS}
    | {"in": "at", "on_lost": "retry.on_lost", "overlap": "overlap", "overlap_queue": "overlap_queue", "env": "env"}
    | {"schedule": "schedule", "retry": "retry"}
)
_NEEDED: Final = ("name", "shell", "command", "target")


def patch_of(session: Session, client: Client, options: Mapping[str, Any], clear: list[str], job: Json) -> Json:
    """The change to `job` that the options ask for."""
    patch = draft.fields(session, options)
    read = plan.crontab_line(options["line"]) if options["line"] is not None else {}
    if read and (session.command is not None or options["shell"] is not None):
        raise InvalidInput("--line has a command already", "leave -- COMMAND and --shell out", field="--line")
    if read or session.command is not None or options["shell"] is not None:
        patch["target"] = read.get("target") or draft.target(session, options["shell"])
    if read.get("stdin") is not None:
        patch["stdin"] = read["stdin"]
    fields = [_field(word) for word in clear]
    own = zone_of(client, job) if options["at"] is not None and options["tz"] is None else None
    patch |= _schedule(session, options, read.get("schedule", {}), {*fields}, job, own)
    for field in fields:
        _clear(patch, field)
    return patch


def _schedule(
    session: Session,
    options: Mapping[str, Any],
    of_line: Mapping[str, Any],
    cleared: set[str],
    job: Json,
    own: str | None,
) -> Json:
    """The API replaces a schedule whole: what is not changed of it is given again. `own`: the job's zone, in which
    local times are read."""
    old = {name: value for name, value in (job["schedule"] or {}).items() if value and name != "words"}
    zone = options["tz"] or old.get("timezone")
    fresh = plan.schedule(session, {**options, "tz": zone or own}, of_line, f"jobctl run {job['name']}")
    if not fresh and cleared.isdisjoint({"schedule", *plan.KINDS, *plan.MANNER}):
        return {"timezone": options["tz"]} if options["tz"] is not None else {}
    new_kind = any(kind in fresh for kind in plan.KINDS)
    if new_kind or not cleared.isdisjoint({"schedule", *plan.KINDS}):
        old = {name: value for name, value in old.items() if name not in plan.KINDS}
    merged = {name: value for name, value in (old | fresh).items() if name not in cleared or name in fresh}
    kind = next((kind for kind in plan.KINDS if kind in merged), None)
    if kind is None and not fresh:
        return {"schedule": None} | ({"timezone": options["tz"]} if options["tz"] is not None else {})
    for name in plan.MANNER:
        if name not in fresh and kind not in plan.GOES_WITH[name]:
            merged.pop(name, None)
    return {"schedule": merged | ({"timezone": zone} if zone else {})}


def _field(word: str) -> str:
    """The API's name of what is to be cleared."""
    name = word.strip().removeprefix("--")
    if name.startswith("env.") and len(name) > len("env."):
        return name
    plain = name.replace("-", "_")
    if plain in _NEEDED:
        raise InvalidInput(f"--clear {name}: no job can be without", "give another one", field="--clear")
    if plain not in _FIELDS:
        from difflib import get_close_matches

        near = get_close_matches(plain, _FIELDS, n=1)
        hint = f"did you mean {near[0].replace('_', '-')}?" if near else "name an option, as in timeout or env.NAME"
        raise InvalidInput(f"--clear: there is no option {name!r}", hint, field="--clear")
    return _FIELDS[plain]


def _clear(patch: Json, field: str) -> None:
    part, _, name = field.partition(".")
    if field == "schedule" or field in (*plan.KINDS, *plan.MANNER):
        return  # with the schedule
    if name:
        inside = patch.setdefault(part, {})
        if inside is not None and inside.get(name) is not None:
            raise _both(field)
        if inside is not None:
            inside |= {"on_lost": None, "lost": None} if field == "retry.on_lost" else {name: None}
        return
    if patch.get(field) is not None:
        raise _both(field)
    patch[field] = None


def _both(field: str) -> InvalidInput:
    return InvalidInput(f"{OPTIONS.get(field, field)} is given and cleared", "do one of them", field="--clear")
