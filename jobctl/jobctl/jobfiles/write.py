"""Jobs as a file that declares them: only what is not the default of `jobctl add` is said."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from jobctl.defaults import ADD, MISFIRE_WITHIN_MS
from jobctl.errors import Conflict
from jobctl.jobfiles.document import DEFAULTS, JOB, shown
from jobctl.jobfiles.keys import KEYS, MANNER, TIMES, VERSION

Json = Mapping[str, Any]

_LINE_CHARS_MAX: Final = 100
_ORDER: Final = (*TIMES, *MANNER, *(key for key in KEYS if key not in (*TIMES, *MANNER)))
_SECONDS: Final = ("every", "jitter", "timeout", "grace", "late_after", "misfire_within")
_OTHERWISE: Final[Json] = {
    "dst_gap": "auto",
    "dst_overlap": "auto",
    "umask": "022",
    "nice": 0,
    "priority": ADD.priority,
    "grace": ADD.grace_ms / 1000,
    "late_after": ADD.late_after_ms / 1000,
    "overlap": ADD.overlap,
    "misfire": ADD.misfire,
    "on_failure": ADD.on_failure,
    "queue": ADD.queue,
    "log_max": ADD.log_max,
}
_RETRY_OTHERWISE: Final[Json] = {
    "max": ADD.retries,
    "backoff": ADD.backoff_ms / 1000,
    "backoff_max": ADD.backoff_max_ms / 1000,
    "no_retry_on": [],
    "on_lost": ADD.on_lost,
    "lost": ADD.lost_retries,
}
_ENDS: Final = ("success", "failure", "any")


def written(jobs: Sequence[Json], caller: str) -> str:
    """The text. `jobs` are as the API shows them, all of them with a name of their own; `caller` is who will own them.

    Raises `Conflict` when two have one name: they are of different owners.
    """
    names = Counter(str(job["name"]) for job in jobs)
    twice = next((name for name, number in names.items() if number > 1), None)
    if twice is not None:
        owners = " and ".join(str(job["owner"]) for job in jobs if job["name"] == twice)
        raise Conflict(f"{owners} have a job {twice} each, and a file has a name once", "export those of one: --owner")
    zones = {str(job["schedule"]["timezone"]) for job in jobs if job["schedule"]}
    common = zones.pop() if len(zones) == 1 else None
    parts = ["# Jobs of jobctl: see jobs.toml(5).\n", _pair("version", VERSION)]
    if common is not None:
        parts += [f"\n{shown((DEFAULTS,))}\n", _pair("timezone", common)]
    for job in jobs:
        parts += _job(job, caller, common)
    return "".join(parts)


def _job(job: Json, caller: str, zone: str | None) -> Iterator[str]:
    path = (JOB, str(job["name"]))
    yield f"\n{shown(path)}\n"
    said = dict(_said(job, caller, zone))
    parts: dict[str, Json] = {key: said.pop(key) for key in ("retry", "env") if said.get(key)}
    for key in _ORDER:
        if key in said:
            yield _pair(key, said[key])
    own_tables = []
    for key, part in parts.items():
        line = _pair(key, part)
        if len(line) > _LINE_CHARS_MAX:
            own_tables.append((key, part))
        else:
            yield line
    for key, part in own_tables:
        yield f"\n{shown((*path, key))}\n"
        yield from (_pair(name, value) for name, value in part.items())


def _said(job: Json, caller: str, zone: str | None) -> Iterator[tuple[str, Any]]:
    """Key and value of what is not as by default."""
    flat = {**job, **(job["target"] or {}), **(job["schedule"] or {})}
    flat["after"] = _after(flat.get("after"))
    flat["user"] = job["user"] or (job["owner"] if job["owner"] != caller else None)
    flat["retry"] = {name: value for name, value in job["retry"].items() if value != _RETRY_OTHERWISE.get(name)}
    if flat["misfire_within"] == MISFIRE_WITHIN_MS[str(job["misfire"])] / 1000:
        flat["misfire_within"] = None
    if job["overlap"] != "queue" or job["overlap_queue"] == ADD.overlap_queue:
        flat["overlap_queue"] = None
    if flat.get("timezone") == zone:
        flat["timezone"] = None
    for key in _ORDER:
        value = flat.get(key)
        if value is None or value is False or value in ([], {}) or (key in _OTHERWISE and value == _OTHERWISE[key]):
            continue
        yield key, _as_written(key, value)


def _as_written(key: str, value: Any) -> Any:
    if key in _SECONDS:
        return _duration(value)
    if key == "log_max":
        return _size(value)
    if key == "retry":
        return {name: _duration(part) if name.startswith("backoff") else part for name, part in value.items()}
    return {name: part for name, part in value.items() if part is not None} if isinstance(value, dict) else value


def _after(text: str | None) -> str | None:
    """Success is what holds where no end is named."""
    if text is None:
        return None
    name = text.removesuffix(":success")
    return text if name.rpartition(":")[2] in _ENDS else name


def _duration(seconds: float) -> str:
    from jobctl.schedule import format_duration

    return format_duration(round(seconds * 1000))


def _size(count: int) -> int | str:
    for unit, times in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count and count % times == 0:
            return f"{count // times}{unit}"
    return count


# ── TOML ──────────────────────────────────────────────


def _pair(key: str, value: Any) -> str:
    """`key = value` and its newline; a list of one line where that is short, a text of several lines as such."""
    return f"{shown((key,))[1:-1]} = {_value(value)}\n"


def _value(value: Any) -> str:
    if isinstance(value, list):
        texts = [_value(item) for item in value]
        line = f"[{', '.join(texts)}]"
        return line if len(line) <= _LINE_CHARS_MAX else "".join(["[\n", *(f"    {text},\n" for text in texts), "]"])
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{shown((name,))[1:-1]} = {_value(part)}" for name, part in value.items()) + " }"
    import tomli_w

    lines = isinstance(value, str) and "\n" in value.rstrip("\n") and "\r" not in value
    return tomli_w.dumps({"x": value}, multiline_strings=lines).removeprefix("x = ").removesuffix("\n")
