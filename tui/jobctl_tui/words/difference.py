"""What an edit changes, field by field, and the command line that does the same."""

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from shlex import join, quote
from typing import Any, Final, NamedTuple

from jobctl.reading.document import size, written
from jobctl.reading.times import duration
from jobctl_tui.words.variables import COVER, is_secret

Json = dict[str, Any]

_PARTS: Final = ("schedule", "target", "env", "retry", "mail")
_SECONDS: Final = ("timeout", "grace", "late_after", "misfire_within", "schedule.every", "schedule.jitter",
                   "retry.backoff", "retry.backoff_max")  # fmt: skip
#: What a field of the API is on the command line, where that is not its name with dashes.
_OPTIONS: Final = {
    "target.shell": "--shell", "schedule.timezone": "--tz", "timezone": "--tz", "payload_ref": "--payload",
    "tags": "--tag", "retry.max": "--retries", "mail.to": "--mail", "mail.on": "--mail-on", "run_at": "--at",
}  # fmt: skip
_LABELS: Final = {"target.command": "command", "target.shell": "shell", "mail.to": "mail", "mail.on": "mail on",
                  "retry.max": "retries", "misfire": "missed", "misfire_within": "missed within", "cwd": "directory",
                  "schedule.dst_gap": "clock gap", "schedule.dst_overlap": "clock twice"}  # fmt: skip
#: Without a value they have one all the same.
_DEFAULTED: Final = ("grace", "late_after", "overlap", "misfire", "misfire_within", "queue", "priority", "on_failure",
                     "log_max", "umask", "nice", "retry.max", "retry.backoff", "retry.backoff_max", "retry.on_lost",
                     "retry.lost", "schedule.dst_gap", "schedule.dst_overlap")  # fmt: skip
_FLAGS: Final = ("schedule.on_boot", "schedule.on_start")


class Change(NamedTuple):
    """A field that changes; an empty text stands for nothing."""

    label: str
    before: str
    after: str


def between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Of two definitions as `jobctl.reading.document` writes them."""
    return of_api(raw_between(before, after))


def raw_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Json]:
    """The same as the daemon tells it: `{"field", "before", "after"}`."""
    was, now = _flat(before), _flat(after)
    return [
        {"field": name, "before": was.get(name), "after": now.get(name)}
        for name in dict.fromkeys((*was, *now))
        if was.get(name) != now.get(name)
    ]


def of_api(changes: Sequence[Mapping[str, Any]]) -> list[Change]:
    """Those of a dry run of the daemon."""
    return [
        Change(_label(str(change["field"])), *(_value(str(change["field"]), change[side]) for side in _SIDES))
        for change in changes
    ]


def since(seen: Json, now: Json) -> list[Change]:
    """What somebody else has changed in a job; also a pause, which is no part of its definition."""
    paused = [
        Change("paused", _value("paused", seen.get("paused")), _value("paused", now.get("paused")))
        for _ in range(seen.get("paused") != now.get("paused"))
    ]
    return [*between(written(seen), written(now)), *paused]


_SIDES: Final = ("before", "after")


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in table.items():
        if name in _PARTS:
            fields |= {f"{name}.{part}": inner for part, inner in (value or {}).items()}
        else:
            fields[name] = value
    return fields


def _label(field: str) -> str:
    part, _, name = field.partition(".")
    if part == "env" and name:
        return f"env {name}"
    return _LABELS.get(field) or (name or part).replace("_", " ")


def _value(field: str, value: Any) -> str:
    if value is None or value == []:
        return "default" if field in _DEFAULTED else ""
    if field.startswith("env.") and is_secret(field.removeprefix("env.")):
        return COVER
    if field in _SECONDS and isinstance(value, int | float) and not isinstance(value, bool):
        return duration(value)
    if field == "log_max" and isinstance(value, int):
        return str(size(value))
    if isinstance(value, list):
        return join(map(str, value)) if field == "target.command" else ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return dumps(value, ensure_ascii=False) if field == "stdin" or "\n" in str(value) else str(value)


# ── the command line ──────────────────────────────────────────────


def edit_line(job: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """`jobctl edit JOB …`; empty when nothing is changed. A secret is taken from the environment of who types it."""
    changes = raw_between(before, after)
    if not changes:
        return ""
    given = {change["field"]: change["after"] for change in changes}
    cleared = [name for name, value in given.items() if value is None or value == []]
    words = list(_options(given, after, skip=cleared))
    clear = [_cleared(name) for name in cleared if not _follows(name, given)]
    clear = list(dict.fromkeys(filter(None, clear)))
    return _joined(["jobctl", "edit", job, *words, *(["--clear", ",".join(clear)] if clear else [])], given)


def add_line(body: Mapping[str, Any]) -> str:
    """`jobctl add NAME …` of the body of a new job."""
    given = _flat(body)
    name = [str(given.pop("name"))] if given.get("name") else []
    return _joined(["jobctl", "add", *name, *_options(given, body, skip=())], given)


def _joined(words: Sequence[str], given: Mapping[str, Any]) -> str:
    command = given.get("target.command")
    line = " ".join(map(quote, words))
    return f"{line} -- {join(map(str, command))}" if command else line


def _options(given: Mapping[str, Any], whole: Mapping[str, Any], *, skip: Sequence[str]) -> Iterator[str]:
    for field, value in given.items():
        part, _, name = field.partition(".")
        if field in skip or field in ("target.command", "retry.lost", "overlap_queue"):
            continue
        if field in _FLAGS:
            yield from [_option(field)] if value else []
        elif part == "env":
            yield from ("--env", name if is_secret(name) else f"{name}={value}")
        elif field in ("tags", "notify"):
            for each in value:
                yield from (_option(field), str(each))
        elif field == "retry.no_retry_on":
            yield from ("--no-retry-on", ",".join(map(str, value)))
        elif field not in ("overlap", "retry.on_lost"):
            yield from (_option(field), str(value))
    yield from _numbered(given, whole)


def _numbered(given: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    """Two options whose word has a number behind it."""
    if {"overlap", "overlap_queue"} & given.keys():
        queue = whole.get("overlap_queue")
        yield from ("--overlap", f"{whole.get('overlap', 'skip')}" + (f":{queue}" if queue else ""))
    if {"retry.on_lost", "retry.lost"} & given.keys():
        retry = whole.get("retry") or {}
        word = str(retry.get("on_lost", "retry"))
        lost = retry.get("lost")
        yield from ("--on-lost", f"{word}:{lost}" if word == "retry" and lost is not None else word)


def _option(field: str) -> str:
    name = field.rpartition(".")[2]
    return _OPTIONS.get(field) or "--" + name.replace("_", "-")


def _cleared(field: str) -> str:
    """What --clear calls it; nothing for what goes with something else."""
    if field.startswith("env."):
        return field
    return "" if field in ("overlap_queue", "retry.lost") else _option(field).removeprefix("--")


def _follows(field: str, given: Mapping[str, Any]) -> bool:
    """Whether it goes by itself: the old time of a new one, the other way to name a command."""
    part = field.partition(".")[0]
    if part not in ("schedule", "target"):
        return False
    return any(name.partition(".")[0] == part and value not in (None, False) for name, value in given.items())
