"""The fields of the job editor: each reads its text from a definition, and writes it back.

A definition is a table as `jobctl.reading.document` writes it: the API's names, durations and sizes as texts.
"""

from collections.abc import Callable, Mapping
from shlex import join, split
from typing import Any, Final, Literal, NamedTuple

from jobctl.defaults import ADD, MISFIRE_WITHIN_MS, PRIORITIES
from jobctl.errors import InvalidInput
from jobctl.reading.times import duration
from jobctl.schedule import parse_duration
from jobctl_tui.words import plan, retries, variables

Table = dict[str, Any]
Kind = Literal["line", "choice", "lines"]


class Field(NamedTuple):
    """One of them. `id` is the API's name of it, but for `command` and `shell`, which are its target."""

    id: str
    label: str
    kind: Kind
    read: Callable[[Mapping[str, Any]], str]
    write: Callable[[Table, str], None]
    """Changes the table. Raises `InvalidInput` for a text that cannot be read."""
    choices: tuple[tuple[str, str], ...] = ()
    """Value and words of each."""
    empty: str = ""
    """What an empty field means, in its place."""
    narrow: bool = False
    """Whether another may stand beside it."""
    about: str = ""
    """What it is, for who has not seen it before."""

    def next_choice(self, value: str, step: int = 1) -> str:
        """The choice after one, around the end."""
        values = [choice for choice, _ in self.choices]
        return values[(values.index(value) + step) % len(values)] if value in values else values[0]


# ── reading and writing ──────────────────────────────────────────────


def _word(name: str, otherwise: str = "") -> Callable[[Mapping[str, Any]], str]:
    return lambda table: str(table.get(name, otherwise))


def _set(name: str) -> Callable[[Table, str], None]:
    def write(table: Table, text: str) -> None:
        if text.strip():
            table[name] = text.strip()
        else:
            table.pop(name, None)

    return write


def _duration(name: str) -> Callable[[Table, str], None]:
    def write(table: Table, text: str) -> None:
        bare = text.strip()
        if not bare or bare.lower() == "none":
            table.pop(name, None)
            return
        try:
            parse_duration(bare)
        except InvalidInput as error:
            raise InvalidInput(error.message, error.hint, field=name) from error
        table[name] = bare

    return write


def _command(table: Mapping[str, Any]) -> str:
    target = table.get("target", {})
    return str(target["shell"]) if target.get("shell") is not None else join(target.get("command") or [])


def _set_command(table: Table, text: str) -> None:
    if (table.get("target") or {}).get("shell") is not None:
        table["target"] = {"shell": text}
        return
    table["target"] = {"command": _words(text)}


def _words(text: str) -> list[str]:
    try:
        return split(text)
    except ValueError as error:
        hint = "close the quotation, or let the shell run the line"
        raise InvalidInput(f"the command cannot be read: {str(error).lower()}", hint, field="command") from error


def _how(table: Mapping[str, Any]) -> str:
    return "shell" if (table.get("target") or {}).get("shell") is not None else "exec"


def _set_how(table: Table, text: str) -> None:
    line = _command(table)
    table["target"] = {"shell": line} if text == "shell" else {"command": _words(line)}


def _set_tags(table: Table, text: str) -> None:
    table["tags"] = list(dict.fromkeys(text.replace(",", " ").split()))


def _zone(table: Mapping[str, Any]) -> str:
    return str((table.get("schedule") or {}).get("timezone") or "")


def _set_zone(table: Table, text: str) -> None:
    schedule = {name: value for name, value in (table.get("schedule") or {}).items() if name != "timezone"}
    table["schedule"] = schedule | ({"timezone": text.strip()} if text.strip() else {})


def _set_plan(table: Table, text: str) -> None:
    table["schedule"] = plan.with_plan(table.get("schedule") or {}, plan.plan_of(text))


def _policy(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda table: str((table.get("schedule") or {}).get(name) or "auto")


def _set_policy(name: str) -> Callable[[Table, str], None]:
    def write(table: Table, text: str) -> None:
        others = {key: value for key, value in (table.get("schedule") or {}).items() if key != name}
        table["schedule"] = others if text == "auto" else {**others, name: text}

    return write


def _retry(table: Mapping[str, Any]) -> str:
    return retries.text_of(table.get("retry") or {})


def _set_retry(table: Table, text: str) -> None:
    """What is not said stays; nothing at all is the default again."""
    retry = dict(table.get("retry") or {})
    if not text.strip():
        retry = {name: value for name, value in retry.items() if name not in _RETRY}
    table["retry"] = retry | retries.retry_of(text)


def _misfire(table: Table, text: str) -> None:
    """Its window goes with it where that is the one by default."""
    before = str(table.get("misfire", ADD.misfire))
    if text != before and table.get("misfire_within") == _within(before):
        table.pop("misfire_within", None)
    table["misfire"] = text


def _overlap(table: Table, text: str) -> None:
    """How many wait goes with *queue* alone."""
    if text != "queue":
        table.pop("overlap_queue", None)
    table["overlap"] = text


def _within(misfire: str) -> str:
    return duration(MISFIRE_WITHIN_MS.get(misfire, 0) / 1000)


def _priority(table: Mapping[str, Any]) -> str:
    value = table.get("priority", "")
    return next((word for word, number in PRIORITIES.items() if number == value), str(value))


def _set_priority(table: Table, text: str) -> None:
    bare = text.strip().lower()
    if not bare:
        table.pop("priority", None)
    elif bare in PRIORITIES:
        table["priority"] = PRIORITIES[bare]
    elif bare.removeprefix("-").isdecimal() and bare.isascii() and len(bare) < 6:
        table["priority"] = int(bare)
    else:
        raise InvalidInput(
            f"{bare[:20]!r} is no priority", f"-9 (first) to 9, or {', '.join(PRIORITIES)}", field="priority"
        )


def _set_env(table: Table, text: str) -> None:
    table["env"] = variables.env_of(text, table.get("env") or {})


def _set_notify(table: Table, text: str) -> None:
    table["notify"] = [line.strip() for line in text.splitlines() if line.strip()]


def _set_note(table: Table, text: str) -> None:
    if text.strip():
        table["note"] = text.rstrip("\n")
    else:
        table.pop("note", None)


_RETRY: Final = ("max", "backoff", "backoff_max")

FIELDS: Final[tuple[Field, ...]] = (
    Field("name", "Name", "line", _word("name"), _set("name"), empty="made from the command",
          about="letters, digits, spaces and . _ - @ : / +"),
    Field("shell", "Run", "choice", _how, _set_how,
          (("exec", "the command as it is"), ("shell", "a line for /bin/sh")),
          about="as it is: no shell, quotes only part words; a line: pipes, $ and * mean what they mean in sh"),
    Field("command", "Command", "line", _command, _set_command, empty="/usr/local/bin/backup --full",
          about="the program and its arguments, or the line for the shell"),
    Field("schedule", "Schedule", "line", lambda table: plan.text_of(table.get("schedule")), _set_plan,
          empty="by hand; or 0 3 * * *, every 10m, at 17:30, after JOB",
          about="0 3 * * *, every 10m, at tomorrow 09:00, in 10m, after JOB, on boot, on start, by hand"),
    Field("timezone", "Timezone", "line", _zone, _set_zone, empty="the host's",
          about="an IANA name, such as Europe/Berlin or UTC"),
    Field("cwd", "Directory", "line", _word("cwd"), _set("cwd"), empty="HOME",
          about="where the command begins: a whole path"),
    Field("dst_gap", "Skipped", "choice", _policy("dst_gap"), _set_policy("dst_gap"),
          (("auto", "auto"), ("run-after", "run after it"), ("skip", "skip")),
          about="times that a clock change skips: as cron does, run once after it, or leave them out"),
    Field("dst_overlap", "Twice", "choice", _policy("dst_overlap"), _set_policy("dst_overlap"),
          (("auto", "auto"), ("first", "first"), ("second", "second"), ("both", "both")),
          about="times that occur twice: as cron does, the first, the second, or both"),
    Field("retry", "Retry", "line", _retry, _set_retry, empty=retries.usual(),
          about="after a failure: how often, the first delay, the longest; none for never"),
    Field("timeout", "Timeout", "line", _word("timeout"), _duration("timeout"), empty="none", narrow=True,
          about="stop a run after so long"),
    Field("grace", "Grace", "line", _word("grace"), _duration("grace"),
          empty=duration(ADD.grace_ms / 1000), narrow=True,
          about="between TERM and KILL"),
    Field("overlap", "Overlap", "choice", _word("overlap", ADD.overlap), _overlap,
          (("skip", "skip"), ("queue", "queue"), ("allow", "allow"), ("replace", "replace")),
          about="due while an earlier run is active: leave it out, let it wait, run both, stop the earlier"),
    Field("misfire", "Missed", "choice", _word("misfire", ADD.misfire), _misfire,
          (("once", "run once"), ("skip", "skip"), ("all", "run all")),
          about="times that passed while nothing could start it: one run for all, none, one for each"),
    Field("misfire_within", "If late", "line",
          _word("misfire_within"),
          _duration("misfire_within"), empty="24h; skip: 1m", narrow=True,
          about="how late it may still be made up"),
    Field("on_failure", "On fail", "choice", _word("on_failure", ADD.on_failure), _set("on_failure"),
          (("dead", "dead letter"), ("record", "record only")),
          about="failed for good: kept with its log for a replay, or only recorded"),
    Field("queue", "Queue", "line", _word("queue"), _set("queue"), empty=ADD.queue, narrow=True,
          about="jobs of one queue share a limit"),
    Field("priority", "Priority", "line", _priority, _set_priority, empty="normal", narrow=True,
          about="in its queue: -9 to 9, smaller goes first; high, normal, low"),
    Field("tags", "Tags", "line", lambda table: ", ".join(table.get("tags") or ()), _set_tags, empty="none",
          about="words to find it by, with commas"),
    Field("notify", "Notify", "lines", lambda table: "\n".join(table.get("notify") or ()), _set_notify,
          empty="nobody: mail, mail:ADDRESS or exec:COMMAND, one a line",
          about="who is told when it fails for good and when it works again"),
    Field("env", "Env", "lines", lambda table: variables.lines_of(table.get("env") or {}), _set_env,
          empty="NAME=VALUE, one a line",
          about="variables; values of secrets are covered, ^t shows them"),
    Field("note", "Note", "lines", _word("note"), _set_note, empty="what a reader should know",
          about="what a reader should know"),
)  # fmt: skip

BY_ID: Final[Mapping[str, Field]] = {field.id: field for field in FIELDS}

#: The field in which a field of the API is; what has none here is in the text for $EDITOR.
_PLACES: Final = {"run_at": "schedule", "overlap_queue": "overlap", "target": "command"}


#: What is in the text for $EDITOR alone, and what it is where nothing is said.
_IN_TEXT: Final[Mapping[str, object]] = {
    "stdin": None, "env_file": None, "user": None, "umask": "022", "nice": 0, "jitter": None, "limit": None,
    "mail": None,
}  # fmt: skip


def in_text(table: Mapping[str, Any]) -> str:
    """What has no field: `umask 077, nice 10`, as far as it is set, and what else there is."""
    have = {**table, **(table.get("schedule") or {})}
    found = {name: have[name] for name, usual in _IN_TEXT.items() if have.get(name) not in (usual, None)}
    told = [f"{name} {_brief(value)}" for name, value in found.items()]
    others = ", ".join(name for name in _IN_TEXT if name not in found)
    return f"{', '.join(told)}; also {others}" if told else others


def _brief(value: object) -> str:
    """In one line, and short."""
    text = ", ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
    line = " ".join(text.split())
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF - 1]}…"


_BRIEF: Final = 24


def place_of(name: str) -> str | None:
    """The id of the field that shows a field of the API: `schedule.cron` is in *schedule*; None for none."""
    bare = name.partition("[")[0]
    part, _, inner = bare.partition(".")
    if inner in ("timezone", "dst_gap", "dst_overlap"):
        return inner
    found = _PLACES.get(part, part)
    return found if found in BY_ID else None
