"""A definition as a text to edit: TOML with the API's field names. What holds by default is there as a comment."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from jobctl.defaults import ADD, MISFIRE_WITHIN_MS
from jobctl.errors import InvalidInput
from jobctl.reading.times import duration

Table = dict[str, Any]

_HEAD: Final = """\
# {name}, id {id}, version {version}. What you change is checked and shown first; an unchanged file changes nothing.
# A line behind # is the default or an example: take the # away to set it. A line taken out is the default again.
"""
_LINE_CHARS_MAX: Final = 100
_HEADING: Final = re.compile(r"\s*\[(?P<name>[^\[\]]+)\]")
_KEY: Final = re.compile(r"\s*(?P<name>[^\s=#\[][^=#]*?)\s*=")
_AS_THEY_ARE: Final = (
    "name", "target", "stdin", "payload_ref", "env", "env_file", "user", "cwd", "umask", "nice", "overlap", "limit",
    "misfire", "queue", "priority", "on_failure", "notify", "tags", "note",
)  # fmt: skip
#: Changed field by field; others are replaced whole.
_MERGED: Final = ("env", "retry", "mail")
#: What a schedule has beside its time.
_MANNER: Final = ("jitter", "dst_gap", "dst_overlap")


class Line(NamedTuple):
    """A field: its default as it may be written, or an example where nothing is set by default."""

    field: str
    otherwise: object
    about: str = ""
    example: bool = False


def text_of(job: Mapping[str, Any]) -> str:
    """The whole definition. What `changes` makes of it as it stands is nothing."""
    head = _HEAD.format(name=_one_line(job["name"]), id=job["id"], version=job["version"])
    return text_with(head, written(job), str(job["owner"]))


def text_with(head: str, table: Table, owner: str) -> str:
    """The same of fields that are no job yet, or not as it is; `head` are lines of comment."""
    parts = [head]
    for heading, lines in _sections(table, owner):
        parts.append(f"\n# ── {heading} ──\n" if heading else "\n")
        parts += [_shown(line, table) for line in lines]
    return "".join(parts)


def parsed(text: str) -> Table:
    """The fields of an edited text. `InvalidInput` says in which line it is broken."""
    try:
        return {name: _plain(value) for name, value in tomllib.loads(text).items()}
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"the text is not TOML: {error}", "texts are in quotes, lists in brackets") from error


def changes(before: Table, after: Table) -> Table:
    """The body of a PATCH that makes one of the other; null is the default again."""
    patch: Table = {}
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if name in _MERGED and isinstance(new if name in after else {}, dict):
            fields = dict.fromkeys((*(old or {}), *(new or {})))
            merged = {field: (new or {}).get(field) for field in fields}
            patch[name] = {field: value for field, value in merged.items() if value != (old or {}).get(field)}
        else:
            patch[name] = new
    return _by_hand(patch, after) if "schedule" in patch else patch


def _by_hand(patch: Table, after: Table) -> Table:
    """A schedule of which no time is left is none; its zone stays, or is what the text says."""
    plan = after.get("schedule")
    if plan is None or not (isinstance(plan, dict) and plan.keys() <= {"timezone", *_MANNER}):
        return patch
    zone = {"timezone": plan["timezone"]} if "timezone" in plan else {}
    return {**patch, "schedule": None, **zone}


def line_of(text: str, field: str) -> int | None:
    """The line in which a text sets a field, or something of it; None where it does not."""
    wanted = field.partition("[")[0]
    table, inside, part = "", "", None
    for number, line in enumerate(text.splitlines(), 1):
        quotes = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")
        if inside:
            inside = "" if quotes == inside else inside
            continue
        inside = quotes
        heading, key = _HEADING.match(line), _KEY.match(line)
        if heading:
            table = _bare(heading["name"]) + "."
        elif key:
            name = table + _bare(key["name"])
            if name == wanted:
                return number
            part = part or (number if name.startswith(f"{wanted}.") or wanted.startswith(f"{name}.") else None)
    return part


def _bare(key: str) -> str:
    """A key of TOML without its quotes and spaces."""
    return "".join(char for char in key if char not in "\"' \t")


def written(job: Mapping[str, Any]) -> Table:
    """The fields of a job as a person writes them: durations and sizes as texts, what is not set left out."""
    table: Table = {name: job[name] for name in _AS_THEY_ARE}
    seconds = ("timeout", "grace", "misfire_within", "late_after")
    table |= {name: duration(job[name]) for name in seconds if job[name] is not None}
    if job["overlap"] == "queue":
        table["overlap_queue"] = job["overlap_queue"]
    plan = {name: value for name, value in (job["schedule"] or {}).items() if name != "words"}
    table["schedule"] = {
        name: duration(value) if name in ("every", "jitter") else value for name, value in plan.items() if value
    }
    backoff = {name: duration(job["retry"][name]) for name in ("backoff", "backoff_max")}
    table |= {"retry": {**job["retry"], **backoff}, "log_max": size(job["log_max"])}
    if mail := job.get("mail"):
        table["mail"] = {name: value for name, value in mail.items() if value is not None}
    return {name: value for name, value in table.items() if value is not None}


def size(count: int) -> int | str:
    """Bytes as they may be written: `10MB`, exactly."""
    for unit, times in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count and count % times == 0:
            return f"{count // times}{unit}"
    return count


def _sections(table: Table, owner: str) -> Iterator[tuple[str, list[Line]]]:
    yield "", [Line("name", "backup", example=True)]
    env = [Line(f"env.{name}", "", "") for name in table.get("env", {})]
    misfire = str(table.get("misfire", ADD.misfire))
    yield (
        "What it runs: a command with its arguments, or a line for /bin/sh -c",
        [
            Line("target.command", ["/usr/local/bin/backup", "--full"], example=True),
            Line("target.shell", "cd /srv && ./report | mail boss", example=True),
            Line("stdin", "text", "what it reads", example=True),
            Line("payload_ref", "/srv/input", "a file that it reads, instead of stdin", example=True),
            *(env or [Line("env.NAME", "value", example=True)]),
            Line("env_file", "/etc/default/backup", "variables, read at each run", example=True),
            Line("user", "postgres", f"else {owner}; others by root only", example=True),
            Line("cwd", "/srv", f"else {ADD.directory}", example=True),
            Line("umask", "022"),
            Line("nice", 0),
        ],
    )
    yield (
        "When: one of the first six, or none of them: by hand only",
        [
            Line("schedule.cron", "0 3 * * *", "five fields, or @daily", example=True),
            Line("schedule.every", "90s", example=True),
            Line("schedule.at", "2026-12-01T09:00Z", "once", example=True),
            Line("schedule.after", "JOB:success", "or :failure, :any", example=True),
            Line("schedule.on_boot", True, example=True),
            Line("schedule.on_start", True, "of the daemon", example=True),
            Line("schedule.timezone", "Europe/Berlin", "without this line it stays as it is", example=True),
            Line("schedule.jitter", "30s", "start up to so much later", example=True),
            Line("schedule.dst_gap", "auto", "or run-after, skip"),
            Line("schedule.dst_overlap", "auto", "or first, second, both"),
        ],
    )
    yield (
        "Limits and policies",
        [
            Line("timeout", "1h", "else none", example=True),
            Line("grace", _of_ms(ADD.grace_ms), "between TERM and KILL"),
            Line("overlap", ADD.overlap, "while an earlier run is active: skip, queue, replace, allow"),
            Line("overlap_queue", ADD.overlap_queue, "of overlap queue: so many may wait"),
            Line("limit", 2, "runs active at once; else 1, or any number under overlap allow", example=True),
            Line("misfire", ADD.misfire, "times that passed while nothing could start it: once, all, skip"),
            Line("misfire_within", _of_ms(MISFIRE_WITHIN_MS.get(misfire, 0)), "how late it may still be made up"),
            Line("late_after", _of_ms(ADD.late_after_ms), "when a start counts as late"),
            Line("queue", ADD.queue),
            Line("priority", ADD.priority, "in its queue: -9 to 9, smaller goes first; high, normal, low"),
            Line("log_max", size(ADD.log_max), "of output kept"),
        ],
    )
    yield (
        "When it fails",
        [
            Line("retry.max", ADD.retries, "attempts after the first"),
            Line("retry.backoff", _of_ms(ADD.backoff_ms), "before the first retry; twice as long before each further"),
            Line("retry.backoff_max", _of_ms(ADD.backoff_max_ms)),
            Line("retry.no_retry_on", [], 'exit codes and kinds of failure: ["3", "oom", "timed_out"]'),
            Line("retry.on_lost", ADD.on_lost, "when nobody knows how it ended: retry, dead, ask:COMMAND"),
            Line("retry.lost", ADD.lost_retries, "retries after that"),
            Line("on_failure", ADD.on_failure, "failed for good: dead (kept for a replay) or record"),
            Line("notify", [], 'who is told: ["mail", "mail:ADDRESS", "exec:COMMAND"]'),
            Line("mail.to", "ops@example.org", "who gets what it prints; several with commas", example=True),
            Line("mail.on", "output", "after which runs: output, failure, always", example=True),
        ],
    )
    yield "About it", [Line("tags", []), Line("note", "what a reader should know", example=True)]


def _shown(line: Line, table: Table) -> str:
    """`key = value  # about it`, as a comment where it is not set or as by default."""
    part, dot, name = line.field.partition(".")
    inside = table.get(part, {}) if dot else table
    name = name if dot else part
    prefix = f"{part}." if dot else ""
    value = inside.get(name)
    if value is None or (value == line.otherwise and not line.example):
        text = f"# {prefix}{_assignment(name, line.otherwise)}"
    else:
        text = prefix + _assignment(name, value)
    if not line.about:
        return f"{text}\n"
    return f"# {line.about}:\n{text}\n" if "\n" in text else f"{text}  # {line.about}\n"


def _assignment(name: str, value: object) -> str:
    import tomli_w

    if isinstance(value, list):
        texts = [tomli_w.dumps({"x": item}).strip().removeprefix("x = ") for item in value]
        text = f"{_key(name)} = [{', '.join(texts)}]"
        return text if len(text) <= _LINE_CHARS_MAX else tomli_w.dumps({name: value}).strip()
    lines = isinstance(value, str) and "\n" in value and "\r" not in value
    return tomli_w.dumps({name: value}, multiline_strings=lines).removesuffix("\n")


def _key(name: str) -> str:
    import tomli_w

    return tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def _of_ms(duration_ms: int) -> str:
    return duration(duration_ms / 1000)


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _plain(value: Any) -> Any:
    """What JSON can carry: a time of TOML becomes its text."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value if isinstance(value, str | int | float | bool) else value.isoformat()
