"""The keys of a file of jobs: jobs.toml(5). Their values are those of the API; what is a part there is flat here."""

from difflib import get_close_matches
from typing import Any, Final

import msgspec

from jobctl.errors import InvalidInput
from jobctl.mismatch import mismatch
from jobctl.model import Duration, Mail, RetryDraft, Value
from jobctl.states import Misfire, OnFailure, Overlap

VERSION: Final = 1

#: When a job is due: a job has one of them, or none and is run by hand.
TIMES: Final = ("cron", "every", "at", "after", "on_boot", "on_start")
#: What goes with a time.
MANNER: Final = ("timezone", "jitter", "dst_gap", "dst_overlap")
#: Merged by their own keys with those of `[defaults]`; other values replace.
PARTS: Final = ("env", "retry")
#: Tables of a job.
TABLES: Final = (*PARTS, "mail")


class JobTable(Value, frozen=True):
    """`[job.NAME]`: what a key may be given. What is left out is the default, of the file or of `jobctl add`."""

    command: list[str] | None = None
    shell: str | None = None
    cron: str | None = None
    every: Duration | None = None
    at: str | None = None
    after: str | None = None
    on_boot: bool = False
    on_start: bool = False
    timezone: str | None = None
    jitter: Duration | None = None
    dst_gap: str = "auto"
    dst_overlap: str = "auto"
    stdin: str | None = None
    payload_ref: str | None = None
    env: dict[str, str] | None = None
    env_file: str | None = None
    login_env: bool = False
    user: str | None = None
    cwd: str | None = None
    umask: str | None = None
    nice: int | None = None
    timeout: Duration | None = None
    grace: Duration | None = None
    late_after: Duration | None = None
    overlap: Overlap | None = None
    overlap_queue: int | None = None
    limit: int | None = None
    misfire: Misfire | None = None
    misfire_within: Duration | None = None
    retry: RetryDraft | None = None
    on_failure: OnFailure | None = None
    notify: list[str] | None = None
    mail: Mail | None = None
    queue: str | None = None
    priority: int | str | None = None
    log_max: int | str | None = None
    tags: list[str] | None = None
    note: str | None = None
    paused: bool = False


KEYS: Final = JobTable.__struct_fields__
#: What is one job's own, and nothing that many have in common.
OWN: Final = ("command", "shell", *TIMES, "stdin", "payload_ref")
DEFAULT_KEYS: Final = tuple(key for key in KEYS if key not in OWN)
#: Of the tables of a job those with keys of ours; the names in `env` are anybody's.
PART_KEYS: Final = {"retry": RetryDraft.__struct_fields__, "mail": Mail.__struct_fields__}

#: What people call it elsewhere, in jobctl's own options too.
_CALLED: Final = {
    "tz": "timezone", "zone": "timezone", "time_zone": "timezone", "schedule": "cron", "interval": "every",
    "run_at": "at", "when": "at", "retries": "retry.max", "max_retries": "retry.max", "backoff": "retry.backoff",
    "backoff_max": "retry.backoff_max", "on_lost": "retry.on_lost", "no_retry_on": "retry.no_retry_on",
    "payload": "payload_ref", "input": "stdin", "environment": "env", "environ": "env", "cmd": "command",
    "exec": "command", "run": "command", "program": "command", "args": "command", "script": "shell",
    "directory": "cwd", "dir": "cwd", "workdir": "cwd", "working_directory": "cwd", "tag": "tags",
    "mailto": "mail", "email": "mail", "description": "note", "comment": "note", "disabled": "paused",
    "enabled": "paused", "runas": "user", "run_as": "user", "username": "user", "max": "retry.max",
    "concurrency": "limit", "time_limit": "timeout", "reboot": "on_boot", "boot": "on_boot", "log_limit": "log_max",
}  # fmt: skip


def nearest(key: str, known: tuple[str, ...]) -> str | None:
    """Which of the known keys was most likely meant."""
    plain = key.replace("-", "_").lower()
    if plain in known:
        return plain
    called = _CALLED.get(plain)
    if called is not None and called.partition(".")[0] in known:
        return called
    close = get_close_matches(plain, known, n=1, cutoff=0.6)
    return close[0] if close else None


def unlike(key: str, value: Any) -> tuple[tuple[str | int, ...], str, str] | None:
    """What of a value has the wrong type: the path inside it, the reason and a hint; None: it is right."""
    try:
        msgspec.convert({key: value}, JobTable)
    except msgspec.ValidationError as error:
        told = mismatch(error, {key: value}, JobTable)
        return _path(told.field or key)[1:], told.message, _hint(key, value, told)
    return None


def _path(field: str) -> tuple[str, ...]:
    return tuple(field.partition("[")[0].split("."))


def _hint(key: str, value: Any, told: InvalidInput) -> str:
    """How it would be right, for the slips that everybody makes."""
    from json import dumps

    if key in PARTS and isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if key == "command" and isinstance(value, str):
        return (
            f"write command = {dumps(value.split(), ensure_ascii=False)}, or shell = {dumps(value, ensure_ascii=False)}"
        )
    if key in ("notify", "tags") and isinstance(value, str):
        return f"write {key} = [{dumps(value, ensure_ascii=False)}]"
    choices = told.message.partition(" one of ")[2].split(", ")
    if isinstance(value, str) and (near := get_close_matches(value, choices, n=1)):
        return f'did you mean "{near[0]}"?'
    if key == "shell" and isinstance(value, list):
        return "a list of words is command"
    if key == "mail" and isinstance(value, str):
        return f"write mail = {{ to = {dumps(value, ensure_ascii=False)} }}"
    if key in PARTS and told.field == key:
        return f"write {key} = {{ … }}, or its keys below [job.NAME.{key}]"
    if "a text" in told.message and isinstance(value, bool | int | float):
        return f'in quotes: "{dumps(value)}"'
    if "true or false" in told.message:
        return "without quotes"
    if "a whole number" in told.message and isinstance(value, str):
        return f"without quotes: {value}" if value.lstrip("-").isdigit() else "in digits, without quotes"
    return "" if "quotes" not in told.hint else told.hint
