"""What `jobctl edit` says of an edit: the fields that change, and the next fires before and after."""

from json import dumps as json_string
from shlex import join
from typing import Any, Final

from jobctl.cli import describe
from jobctl.cli.added import fires, when
from jobctl.cli.draft import OPTIONS
from jobctl.cli.session import Session
from jobctl.reading.times import duration

_SECONDS: Final = ("timeout", "grace", "late_after", "misfire_within", "schedule.every", "schedule.jitter",
                   "retry.backoff", "retry.backoff_max")  # fmt: skip
_PARTS: Final = ("schedule", "target", "env", "retry")
#: What follows from other things, or changes by itself.
_TOLD: Final = ("state", "version", "rev", "next_run_at", "last_run", "running", "retrying", "dead", "skipping",
                "error", "paused_since", "quarantined")  # fmt: skip
_LABELS: Final = {"target.command": "command", "target.shell": "shell"}

Facts = list[tuple[str, str]]


def show_changes(
    session: Session, job: dict[str, Any], answer: dict[str, Any], warnings: list[str], *, aside: bool
) -> None:
    """`answer` is that of a dry run; `job` is what it would change. `aside`: on stderr, where a person is asked."""
    render = session.render
    facts = [*field_changes(answer["changes"]), *_fires(session, job, answer)]
    held = describe.held(answer["job"], session.viewer)
    facts += [("held", f"{held}: nothing starts until that ends")] if held else []
    if aside:
        for label, text in facts if session.world.interactive() else ():
            render.word(f"  {label}  {text}")
    else:
        indent = max(len(label) for label, _ in facts) + 4
        for label, text in facts:
            render.fact(f"  {label}", text, indent)
    for warning in dict.fromkeys([*answer["warnings"], *answer["preview"].get("warnings", ()), *warnings]):
        render.word(f"warning: {warning}")


def since_seen(seen: dict[str, Any], now: dict[str, Any]) -> Facts:
    """What is different in a job since somebody looked at it."""
    before, after = _flat(seen), _flat(now)
    return field_changes([
        {"field": field, "before": before.get(field), "after": after.get(field)}
        for field in dict.fromkeys((*before, *after)) if before.get(field) != after.get(field)
    ])  # fmt: skip


def _flat(job: dict[str, Any]) -> dict[str, Any]:
    """The fields that somebody may have changed, those of a part as retry.max."""
    fields: dict[str, Any] = {}
    for name, value in job.items():
        if name in _PARTS:
            fields |= {f"{name}.{part}": inner for part, inner in (value or {}).items() if part != "words"}
        elif name not in _TOLD and not name.startswith("suspended_"):
            fields[name] = value
    return fields


def field_changes(changes: list[dict[str, Any]]) -> Facts:
    """Each as the option that sets it, and before → after."""
    lines = [(_label(change["field"]), *(_value(change["field"], change[side]) for side in ("before", "after")))
             for change in changes]  # fmt: skip
    return [(label, f"{before} → {after}") for label, before, after in lines]


def _fires(session: Session, job: dict[str, Any], answer: dict[str, Any]) -> Facts:
    coming = fires(answer["before"], session.viewer)
    before = coming or [when(job["schedule"])]
    after = fires(answer["preview"], session.viewer) or [when(answer["job"]["schedule"])]
    if before == after:
        return [("next", "as before:"), *(("", text) for text in coming)] if coming else []
    return [*zip(["next, before", "", ""], before, strict=False), *zip(["next, after", "", ""], after, strict=False)]


def _label(field: str) -> str:
    """As the option that sets it."""
    part, _, name = field.partition(".")
    if part == "env" and name:
        return f"env {name}"
    option = _LABELS.get(field) or OPTIONS.get(field) or OPTIONS.get(name or part) or field
    return option.removeprefix("--")


def _value(field: str, value: Any) -> str:
    if value is None or value == []:
        return "none"
    if field in _SECONDS and isinstance(value, int | float):
        return duration(value)
    if field == "log_max":
        return describe.size(value)
    if isinstance(value, list):
        return join(map(str, value)) if field == "target.command" else ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json_string(value, ensure_ascii=False) if field == "stdin" or "\n" in str(value) else str(value)
