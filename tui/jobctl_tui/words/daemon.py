"""The daemon in words, line by line under headings: how it is, what it has room for, who works in it, what happened."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from jobctl import __version__
from jobctl.reading.runs import size
from jobctl.reading.safe import cell
from jobctl.reading.times import milliseconds, rfc3339, span, took
from jobctl_tui.live.news import TROUBLE
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.when import When
from jobctl_tui.words.wrap import wrapped

Json = dict[str, Any]

#: What is due and not started for longer is a trouble.
_OLDEST_DUE_S: Final = 60
#: A daemon that follows one that was not there for longer than a restart takes tells so for a day.
_LATELY_MS: Final = 86_400_000
_GAP_MS: Final = 10_000
#: More passes of a service are told in thousands.
_THOUSANDS: Final = 10_000
#: They come before each start, which is told itself.
_BEFORE: Final = frozenset({"run.scheduled", "run.ready"})
#: Of those that were trouble, before all others.
_BAD_MAX: Final = 5
_EVENT_SIGNS: Final = {
    "run.succeeded": "ok", "run.failed": "failed", "run.dead": "failed", "run.running": "running",
    "run.retrying": "retrying", "run.cancelled": "cancelled", "run.skipped": "skipped", "run.superseded": "skipped",
    "run.discarded": "skipped", "run.replayed": "retrying", "run.held": "paused", "job.paused": "paused",
    "queue.paused": "paused", "daemon.paused": "paused", "job.quarantined": "failed", "job.parked": "failed",
    "access.denied": "failed", "clock.stepped": "late", "daemon.restored": "late",
}  # fmt: skip
#: Of an event's data, what says nothing to people.
_DULL: Final = frozenset({"name", "key", "fence", "fingerprint", "outcome", "exit_code", "class", "source"})


class Head(NamedTuple):
    """A heading."""

    text: str


class Entry(NamedTuple):
    """One line. `kind` and `ident` say what it is about, and stay the same while it says something else."""

    kind: str
    ident: str
    label: str
    text: str
    sign: str = ""
    """The word of a state, as `Glyphs.of` takes it."""
    style: str = ""
    about: Mapping[str, Any] = MappingProxyType({})
    """The queue, service, file or event itself."""

    @property
    def identity(self) -> tuple[str, str]:
        return self.kind, self.ident


Row = Head | Entry


def now(
    status: Json,
    queues: Sequence[Json],
    when: When,
    now_ms: int,
    glyphs: Glyphs,
    hint: str = "",
    columns: int = 1000,
) -> list[Row]:
    """How the daemon is: trouble, what it has room for, who works in it, what it reads, and the rest. `hint` stands in
    the first heading; trouble is told whole, on lines of so many `columns`."""
    return [
        Head("daemon" + hint),
        *(line for trouble in _troubles(status, when, now_ms) for line in _whole(trouble, columns)),
        _fact("jobd", _who(status, when, now_ms), "ok" if status["state"] == "running" else "late"),
        *_return(status),
        *_lags(status),
        Head("limits and queues"),
        _slots(status, glyphs),
        *(_queue(queue, when, now_ms) for queue in queues if queue["name"]),
        *_section("files that declare jobs", _files(status, when, now_ms)),
        *_section("services", (_service(name, one) for name, one in status["services"].items())),
        *_section("runners", (_runner(one) for one in status["runners"])),
        *_section("more of it", _facts(status, when, now_ms)),
    ]


def past(events: Iterable[Json], bad: Iterable[Json], when: When, now_ms: int, hint: str = "") -> list[Row]:
    """What happened, the newest first; before that the newest of what was trouble."""
    told = [event for event in events if event["kind"] not in _BEFORE][::-1]
    worst = list(bad)[: -_BAD_MAX - 1 : -1]
    rows = _section("recent trouble", (_event(event, when, now_ms, "bad ") for event in worst))
    rows += _section("recent events", (_event(event, when, now_ms) for event in told))
    return [Head(f"{rows[0].text}{hint}"), *rows[1:]] if rows else []


def said(sentences: Iterable[tuple[int, str, bool]], when: When, now_ms: int) -> list[Row]:
    """What these screens have said, the newest first: when, the words, whether it was trouble."""
    lines = (
        Entry("said", f"{at_ms} {words}", _clock(rfc3339(at_ms), when, now_ms), words, "failed" if bad else "",
              "-failed" if bad else "")
        for at_ms, words, bad in reversed(list(sentences))
    )  # fmt: skip
    return _section("said on these screens", lines)


def about(status: Json | None, now_ms: int) -> str:
    """At the right of the line of tabs."""
    if status is None:
        return ""
    bad = sum(1 for _ in _troubles(status, When(), now_ms))
    up = span((now_ms - milliseconds(status["started_at"])) / 1000)
    return f"{'healthy' if not bad else '1 trouble' if bad == 1 else f'{bad} troubles'}, up {up}"


def paused_words(pause: Json, when: When, now_ms: int) -> str:
    """`paused 2h03m ago by ana until Mon 06:00 CET: provider down`."""
    viewer = when.viewer(now_ms)
    words = ["paused"]
    words += [viewer.ago(pause["paused_since"])] if pause.get("paused_since") else []
    words += [f"by {pause['paused_by']}"] if pause.get("paused_by") else []
    words += [f"until {viewer.clock(pause['paused_until'])}"] if pause.get("paused_until") else []
    why = f": {pause['paused_why']}" if pause.get("paused_why") else ""
    return " ".join(words) + why


def _section(title: str, lines: Iterable[Entry]) -> list[Row]:
    entries = list(lines)
    return [Head(title), *entries] if entries else []


# ── trouble ──────────────────────────────────────────────
def _troubles(status: Json, when: When, now_ms: int) -> Iterator[Entry]:
    """What is wrong with the daemon itself, and with jobs as far as only it can tell."""
    if status["state"] != "running":
        yield _bad("state", f"the daemon is {status['state']}", "late")
    if status["paused"]:
        held = paused_words(status["paused"], when, now_ms)
        yield Entry("trouble", "paused", "paused", f"no job is started: {held}", "paused", "-paused")
    if not status["returns_after_reboot"]:
        yield _bad("reboot", no_return(status), "late")
    for number, warning in enumerate(status["warnings"]):
        yield _bad(f"warning {number}", str(warning))
    oldest_s = status["oldest_due_s"]
    if oldest_s is not None and oldest_s > _OLDEST_DUE_S:
        yield _bad("oldest", f"the oldest due run has been waiting for {span(oldest_s)}", "late")
    for name, words in (
        ("quarantined", "quarantined after dying too often, until somebody resumes"),
        ("skipping", "skipped again and again: runs take longer than the time between two"),
    ):
        if status[name]:
            yield _bad(name, f"{_jobs(status[name])} {words}")
    if status["jobs"]["parked"]:
        yield _bad("parked", f"{_jobs(status['jobs']['parked'])} parked: schedules that cannot be expanded")


def _whole(entry: Entry, columns: int) -> Iterator[Entry]:
    """On as many lines as it takes; each of them opens all of it."""
    first, *others = wrapped(cell(entry.text), columns)
    if not others:
        yield entry
        return
    whole = {"": cell(entry.text)}
    yield entry._replace(text=first, about=whole)
    for number, line in enumerate(others, 2):
        yield entry._replace(ident=f"{entry.ident} {number}", label="", sign="", text=line, about=whole)


def _bad(ident: str, text: str, sign: str = "failed") -> Entry:
    return Entry("trouble", ident, "trouble", text, sign, "-late" if sign == "late" else "-failed")


def _jobs(count: int) -> str:
    return "1 job is" if count == 1 else f"{count} jobs are"


# ── facts ──────────────────────────────────────────────
def _facts(status: Json, when: When, now_ms: int) -> Iterator[Entry]:
    viewer = when.viewer(now_ms)
    yield _clock_fact(status, viewer.full(status["now"]), when, now_ms)
    if status["database_bytes"] is not None:
        yield _fact(
            "database", f"{size(status['database_bytes'])} in {status['state_dir']}, {status['engine']['name']}"
        )
    yield _fact("socket", status["socket"])
    if status["system"] and (caller := status.get("caller")):
        everybody = {"root": "jobs of everybody", "admin": "jobs of everybody, as one of its administrators"}
        yield _fact("you", f"{caller['name']}: {everybody.get(str(caller['role']), 'your own jobs')}")
    for pid in status.get("standbys", ()):
        yield _fact("standby", f"pid {pid} takes over when this one is gone", ident=f"standby {pid}")
    if log := status.get("syslog"):
        dropped = f", {log['dropped']} left out: {log['why']}" if log["dropped"] else ""
        yield _fact("syslog", f"{log['lines']} lines to {log['path']}{dropped}")
    if status["untold"]:
        jobs = "1 job" if status["untold"] == 1 else f"{status['untold']} jobs"
        yield _fact("note", f"nobody is told of failures of {jobs}: see notify in the editor")


def _lags(status: Json) -> Iterator[Entry]:
    for label, name in (("starts", "start_lag"), ("loop", "loop_lag")):
        if (lag := status.get(name)) and lag["count"]:
            yield _fact(label, _lag(lag))


def _fact(label: str, text: str, sign: str = "", style: str = "", ident: str = "") -> Entry:
    return Entry("fact", ident or label, label, text, sign, style)


def _who(status: Json, when: When, now_ms: int) -> str:
    kind = "system" if status["system"] else f"of {status['user']}"
    if status["home"]:
        kind = f"trial of {status['user']} in {status['home']}"
    other = "" if status["version"] == __version__ else f" (these screens are {__version__})"
    up = span((now_ms - milliseconds(status["started_at"])) / 1000)
    text = f"{status['version']}{other}, {status['state']} for {up}, pid {status['pid']}, {kind}"
    return text + _down_before(status["clock"]["last_down"], when, now_ms)


def _down_before(down: Json | None, when: When, now_ms: int) -> str:
    if down is None or now_ms - milliseconds(down["to"]) > _LATELY_MS:
        return ""
    gap_ms = milliseconds(down["to"]) - milliseconds(down["from"])
    if gap_ms < _GAP_MS:
        return ""
    until = when.viewer(now_ms).clock(down["to"])
    return f"; before that {'' if down['clean'] else 'up to '}{span(gap_ms / 1000)} without a daemon, until {until}"


def _return(status: Json) -> Iterator[Entry]:
    if status["returns_after_reboot"]:
        yield _fact("reboot", f"comes back after a reboot{_why(status)}", "ok")


def no_return(status: Json) -> str:
    """Of a daemon that nobody starts again."""
    return f"will NOT come back after a reboot or logout{_why(status)}"


def _why(status: Json) -> str:
    why = status.get("returns_after_reboot_why") or ""
    return f": {why}" if why else ""


def _lag(lag: Json) -> str:
    words = (("half within", "p50_ms"), ("99 % within", "p99_ms"), ("at most", "max_ms"))
    return ", ".join(f"{text} {took(lag[name] / 1000)}" for text, name in words if lag[name] is not None)


def _clock_fact(status: Json, full: str, when: When, now_ms: int) -> Entry:
    clock, parts = status["clock"], [full, f"zone {status['timezone']} from {status['timezone_from']}"]
    loose = clock["synchronised"] is False
    parts += ["not synchronised"] if loose else []
    if step := clock["last_step"]:
        moved_s = (milliseconds(step["to"]) - milliseconds(step["from"])) / 1000
        way = "forward" if moved_s >= 0 else "back"
        parts.append(f"stepped {way} by {span(moved_s)} {when.viewer(now_ms).ago(step['at'])}")
    parts.append(f"tzdata {status['tzdata']}")
    return _fact("clock", ", ".join(parts), "late" if loose else "")


# ── limits, services, files ──────────────────────────────────────────────
def _slots(status: Json, glyphs: Glyphs) -> Entry:
    busy, slots = status["running"], status["slots"]
    bar = _bar(busy, slots, glyphs)
    ready = max(0, status["ready"] - status["retrying"])
    waiting = f"{ready} ready, {status['retrying']} retrying, {status['scheduled']} scheduled"
    full = busy >= slots
    return _fact("slots", f"{busy} of {slots} busy {bar}  {waiting}", "late" if full else "", "-late" if full else "")


def _bar(part: int, whole: int, glyphs: Glyphs, width: int = 10) -> str:
    filled = min(width, -(-part * width // whole)) if whole else 0
    return glyphs.eighths[-1] * filled + glyphs.light * (width - filled)


def _queue(queue: Json, when: When, now_ms: int) -> Entry:
    limit = f" of {queue['concurrency']}" if queue["concurrency"] is not None else ""
    jobs = "1 job" if queue["jobs"] == 1 else f"{queue['jobs']} jobs"
    parts = [f"{queue['running']}{limit} running", f"{queue['ready']} ready", jobs]
    parts += [] if queue["concurrency"] is not None else ["no limit but the slots"]
    sign = style = ""
    if queue["paused"]:
        parts.insert(0, paused_words(queue, when, now_ms))
        sign, style = "paused", "-paused"
    elif queue["concurrency"] is not None and queue["running"] >= queue["concurrency"]:
        sign, style = "late", "-late"
    return Entry("queue", queue["name"], queue["name"], ", ".join(parts), sign, style, queue)


def _service(name: str, service: Json) -> Entry:
    if service.get("stalled"):
        return Entry("service", name, name, f"stalled: {service['stalled']}", "failed", "-failed", service)
    last = f"last {took(service['last_s'])} ago" if service["last_s"] is not None else "none yet"
    if service.get("error"):
        return Entry("service", name, name, f"fails: {service['error']} ({last})", "failed", "-failed", service)
    return Entry("service", name, name, f"{_passes(service['beats'])}, {last}", "ok", "", service)


def _passes(number: int) -> str:
    if number >= _THOUSANDS:
        return f"{number // 1000} k passes"
    return "1 pass" if number == 1 else f"{number} passes"


def _runner(runner: Json) -> Entry:
    parts = [f"pid {runner['pid']}"]
    parts += [f"{runner['running']} running"] if runner["running"] is not None else ["has not said who it is"]
    parts += [f"ends commands by {runner['kill_by']}"] if runner["kill_by"] else []
    parts += ["ends with its last command"] if runner["draining"] else []
    silent_s = runner["silent_s"]
    parts += [f"owes an answer for {span(silent_s)}"] if silent_s else []
    name = str(runner["instance"] or f"pid {runner['pid']}")
    label = f"runner {name.rpartition('-')[2]}" if runner["instance"] else "runner"
    sign, style = ("late", "-late") if silent_s else ("ok", "")
    return Entry("runner", name, label, ", ".join(parts), sign, style, runner)


def _files(status: Json, when: When, now_ms: int) -> Iterator[Entry]:
    for file in status.get("tables", ()):
        problems = file["problems"]
        jobs = "1 job" if file["jobs"] == 1 else f"{file['jobs']} jobs"
        loaded = f", read {when.text(file['loaded_at'], now_ms)}" if file["loaded_at"] else ", not read"
        sign, style = ("failed", "-failed") if problems else ("ok", "")
        yield Entry("file", file["path"], file["kind"], f"{file['path']}: {jobs}{loaded}", sign, style, file)
        for number, problem in enumerate(problems):
            line = f"line {problem['line']}" if problem["line"] is not None else "file"
            text = f"{problem['reason']}" + (f": {problem['text']}" if problem.get("text") else "")
            yield Entry("file", f"{file['path']} {number}", f"  {line}", text, "", "-failed", file)


# ── events ──────────────────────────────────────────────
def _event(event: Json, when: When, now_ms: int, before: str = "") -> Entry:
    kind, data = event["kind"], event["data"]
    name = str(data.get("name") or "")
    what = [name] if name else [f"job {event['job_id']}"] if event["job_id"] is not None else []
    what += [f"run {event['run_id']}"] if event["run_id"] is not None else []
    facts = [
        _told(field, value, when, now_ms) for field, value in data.items() if field not in _DULL and value is not None
    ]
    text = f"{kind:<14} {', '.join([*what, *facts])}".rstrip()
    sign, style = _EVENT_SIGNS.get(kind, ""), "-failed" if kind in TROUBLE else ""
    return Entry("event", f"{before}{event['id']}", _clock(event["at"], when, now_ms), text, sign, style, event)


def _told(field: str, value: object, when: When, now_ms: int) -> str:
    if field == "reason":
        return str(value)
    if field.endswith("_ms") and isinstance(value, int) and value > _LATELY_MS:
        return f"{field.removesuffix('_ms')} {when.viewer(now_ms).clock(rfc3339(value))}"
    return f"{field} {value}"


def _clock(at: str, when: When, now_ms: int) -> str:
    """Of today without the zone, which stands on the first line."""
    words = when.viewer(now_ms).clock(at, exact=True)
    return words.rpartition(" ")[0]
