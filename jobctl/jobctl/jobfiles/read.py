"""A file of jobs, read: what each job of it asks for, and everything that is wrong with the file.

The format is that of jobs.toml(5): `[job.NAME]` tables, `[defaults]` for what the jobs of the file have in common, and
`version`. Pure: bytes in, values out.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from jobctl.drafts import Checked, Circumstances
from jobctl.jobfiles.document import ASIDE, DEFAULTS, JOB, Document
from jobctl.jobfiles.keys import DEFAULT_KEYS, KEYS, MANNER, PART_KEYS, PARTS, TABLES, TIMES, VERSION, nearest, unlike
from jobctl.jobfiles.problem import Problem, Source
from jobctl.jobfiles.saying import as_key, in_file_words, is_moving, words_of
from jobctl.jobfiles.spots import Spot
from jobctl.jobfiles.within import cron_offset

FILE_BYTES_MAX: Final = 1 << 20
JOBS_MAX: Final = 1000
#: What the jobs of a file ask for, the defaults written out for each: it fits into one request.
ASKED_BYTES_MAX: Final = (1 << 20) - (1 << 14)

Json = dict[str, Any]

_SEVERAL: Final = "make several files of it"
_NOTHING: Final = 'give it command = ["PROGRAM", "ARGUMENT"], or shell = "LINE"'


class FileJob(NamedTuple):
    """A job of a file. `draft` is shaped as a JobDraft; `times` names the keys that say when it is due."""

    name: str
    draft: Json
    path: tuple[str, str]
    times: tuple[str, ...] = ()

    @property
    def after(self) -> str | None:
        """The job that it comes after, without the end."""
        schedule = self.draft.get("schedule")
        after = schedule.get("after") if isinstance(schedule, dict) else None
        if not isinstance(after, str) or not after:
            return None
        selector, colon, end = after.rpartition(":")
        return selector if colon and end in ("success", "failure", "any") else after


class JobFile:
    """What was read of a file. While it has problems none of its jobs is to be taken."""

    def __init__(self, document: Document) -> None:
        self.path = document.source.path
        self._document = document
        self._every: list[FileJob] = []
        self._told: dict[tuple[int, int, str], Problem] = {}
        for problem in document.problems:
            self._keep(problem)

    @property
    def jobs(self) -> tuple[FileJob, ...]:
        """In the order of the file."""
        return tuple(job for job in self._every if ASIDE not in job.path[1])

    @property
    def problems(self) -> tuple[Problem, ...]:
        """In the order of the file."""
        return tuple(sorted(self._told.values(), key=lambda one: (one.line, one.column)))

    def add(self, job: FileJob) -> None:
        self._every.append(job)

    def tell(self, at: int, reason: str, hint: str = "") -> None:
        """One more mistake, at an offset; the same one only once."""
        self._keep(self._document.source.problem(at, reason, hint))

    def tell_of(self, job: FileJob, field: str, reason: str, hint: str = "") -> None:
        """What is wrong with a field of a job, named as in the API."""
        at = self._place(job, field)
        key = as_key(field)
        if key == "cron":
            written = self._document.source.text[at:]
            at += cron_offset(str(job.draft.get("schedule", {}).get("cron", "")), reason, written)
        self.tell(at, *in_file_words(key, reason, hint))

    def examine(self, here: Callable[[FileJob], Circumstances]) -> list[Checked]:
        """The definitions of all jobs, by the rules of the daemon; what is in their way becomes a problem."""
        from jobctl.drafts.checks import examined

        found = []
        for job in self._every:
            checked, wrongs = examined(job.draft, here(job))
            for wrong in wrongs:
                self.tell_of(job, wrong.field, wrong.reason, wrong.hint)
            if checked is not None and ASIDE not in job.path[1]:
                found.append(checked)
        return found

    def _place(self, job: FileJob, field: str) -> int:
        """The value of a field: in the job, else in the defaults, else the job's own heading."""
        spots, key = self._document.spots, as_key(field)
        if field in ("name", ""):
            return self._document.spot(job.path).value
        if key == "schedule":
            key = job.times[-1] if job.times else "timezone"
        steps = (key.partition(".")[0], *filter(None, [key.partition(".")[2]]))
        for path in ((*job.path, *steps), (DEFAULTS, *steps), (*job.path, steps[0]), (DEFAULTS, steps[0])):
            if path in spots:
                return spots[path].value
        return self._document.spot(job.path).key

    def _keep(self, problem: Problem) -> None:
        self._told.setdefault((problem.line, problem.column, problem.reason), problem)


def read(path: str, data: bytes) -> JobFile:
    """The file of that path with these bytes."""
    if len(data) > FILE_BYTES_MAX:
        return _refused(path, 0, "", f"the file has over {FILE_BYTES_MAX >> 20} MiB", _SEVERAL)
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(errors="replace")
        return _refused(path, len(before), before + "\n", "here is a byte that is no UTF-8", "save the file as UTF-8")
    document = Document(Source(path, text))
    file = JobFile(document)
    _Reader(document, file).read()
    return file


def unreadable(path: str, why: str) -> JobFile:
    """A file that could not be read at all."""
    return _refused(path, 0, "", f"the file cannot be read: {why}", "look at its owner and mode")


def _refused(path: str, at: int, text: str, reason: str, hint: str) -> JobFile:
    document = Document(Source(path, ""))
    document.source = Source(path, text)
    document.tell(at, reason, hint)
    return JobFile(document)


class _Reader:
    """From the tables of a document to the drafts of its jobs."""

    def __init__(self, document: Document, file: JobFile) -> None:
        self._document = document
        self._file = file
        self._defaults: Json = {}

    def read(self) -> None:
        root = self._document.root
        self._version(root.get("version", VERSION))
        for key in root:
            if key not in ("version", JOB, DEFAULTS) and not key.startswith(ASIDE):
                self._not_at_top(key)
        self._defaults = self._checked((DEFAULTS,), self._table((DEFAULTS,), root.get(DEFAULTS, {})), DEFAULT_KEYS)
        jobs = self._table((JOB,), root.get(JOB, {}))
        if len(jobs) > JOBS_MAX:
            self._file.tell(
                0, f"there are {len(jobs):,} jobs, and a file may have {JOBS_MAX:,}", "make several files of it"
            )
            return
        for name, table in jobs.items():
            self._job((JOB, name), self._table((JOB, name), table))
        self._check_size()

    def _version(self, version: Any) -> None:
        if version != VERSION or isinstance(version, bool):
            self._file.tell(
                self._document.spot(("version",)).value,
                f"this file says version {words_of(version)}, and this program reads version {VERSION}",
                f"write version = {VERSION}, or take a newer jobctl",
            )

    def _not_at_top(self, key: str) -> None:
        at = self._document.spot((key,)).key
        if key in KEYS:
            self._file.tell(at, f"`{key}` belongs to a job", "put it below a heading: [job.NAME]")
        else:
            self._unknown(at, key, (*KEYS, "version"), key)

    def _table(self, path: tuple[str, ...], value: Any) -> Json:
        if isinstance(value, dict):
            return value
        spot = self._document.spot(path)
        self._file.tell(spot.key, f"`{'.'.join(path)}` is a table, not a value", "a job begins with [job.NAME]")
        return {}

    def _unknown(self, at: int, key: str, known: tuple[str, ...], shown: str) -> None:
        near = nearest(key, known)
        hint = f"did you mean `{near}`?" if near else "see jobs.toml(5) for all keys"
        self._file.tell(at, f"unknown key `{shown}`", hint)

    # ── the values of a table ──────────────────────────────────────────────

    def _checked(self, path: tuple[str, ...], table: Json, known: tuple[str, ...]) -> Json:
        """What of a table may stay; the rest is told."""
        kept: Json = {}
        for key, value in table.items():
            spot = self._document.spot((*path, key))
            if key == "name" and key not in known:
                self._file.tell(spot.key, "`name` is no key", "the name is in the heading: [job.NAME]")
            elif key not in known and key in KEYS:
                self._file.tell(spot.key, f"`{key}` is each job's own", "put it below the job's heading: [job.NAME]")
            elif key not in known:
                self._unknown(spot.key, key, known, key)
            elif key in TABLES and isinstance(value, dict):
                kept |= self._part((*path, key), value)
            elif self._is_right((*path, key), key, value := _plain(key, value)):
                kept[key] = value
        return kept

    def _part(self, path: tuple[str, ...], table: Json) -> Json:
        """Each entry by itself, so that one that is wrong hides no other; but a mail is whole or none."""
        part, kept = path[-1], {}
        known = PART_KEYS.get(part)
        for name, value in table.items():
            spot = self._document.spot((*path, name))
            if known is not None and name not in known:
                self._unknown(spot.key, name, known, f"{part}.{name}")
            elif part not in PARTS or self._is_right(path, part, {name: value}):
                kept[name] = value
        if part in PARTS:
            return {part: kept}
        return {part: kept} if self._is_right(path, part, kept) else {}

    def _is_right(self, path: tuple[str, ...], key: str, value: Any) -> bool:
        wrong = unlike(key, value)
        if wrong is None:
            return True
        inside, reason, hint = wrong
        self._file.tell(self._inside((*path, *inside), path, value).value, reason, hint)
        return False

    def _inside(self, path: tuple[str | int, ...], whole: tuple[str, ...], value: Any) -> Spot:
        """The item of a list that has the wrong type, else the value itself."""
        if isinstance(value, list):
            number = next((at for at, item in enumerate(value) if not isinstance(item, str)), None)
            if number is not None and (*whole, number) in self._document.spots:
                return self._document.spots[(*whole, number)]
        return self._document.spot(path)

    # ── jobs ──────────────────────────────────────────────

    def _job(self, path: tuple[str, str], table: Json) -> None:
        own = self._checked(path, table, KEYS)
        name = path[1].partition(ASIDE)[0]
        times = tuple(key for key in TIMES if own.get(key) not in (None, False))
        job = FileJob(name, _draft(name or JOB, own, _inherited(own, self._defaults)), path, times)
        self._check_target(job, table, own)
        self._check_times(job, own, times)
        if job.after is not None and job.after == name:
            self._file.tell_of(job, "schedule.after", "a job cannot come after itself", "name another job")
        self._file.add(job)

    def _check_target(self, job: FileJob, table: Json, own: Json) -> None:
        if "command" in own and "shell" in own:
            spot = self._document.spot((*job.path, "shell"))
            self._file.tell(spot.key, "command and shell are two things to run", "keep one of them, or make two jobs")
            del job.draft["target"]["shell"]
        elif "target" not in job.draft:
            given = [nearest(key, KEYS) for key in table if key not in KEYS] + list(table)
            unsure = not job.name or job.path in self._document.unsure
            if not unsure and not {"command", "shell"} & set(given):
                at = self._document.spot(job.path).key
                self._file.tell(at, f"the job {words_of(job.name)} runs nothing", _NOTHING)
            job.draft["target"] = {"shell": "true"}

    def _check_times(self, job: FileJob, own: Json, times: tuple[str, ...]) -> None:
        if len(times) > 1:
            spots = sorted(self._document.spot((*job.path, key)).key for key in times)
            self._file.tell(
                spots[1], f"a job has one schedule, not {' and '.join(times)}", "keep one, or make a job of each"
            )
            for key in times[1:]:
                del job.draft["schedule"][key]
        if isinstance(own.get("at"), str) and is_moving(own["at"]):
            self._file.tell_of(job, "schedule.at", f"{words_of(own['at'])} is another time each time the file is read",
                               "write a day and a time: 2026-12-01T09:00")  # fmt: skip
            job.draft["schedule"].pop("at", None)

    def _check_size(self) -> None:
        import msgspec

        size = sum(len(msgspec.json.encode(job.draft)) for job in self._file.jobs)
        if size > ASKED_BYTES_MAX:
            reason = f"with the defaults written out for each job this is over {ASKED_BYTES_MAX >> 10} KiB"
            self._file.tell(0, reason, _SEVERAL)


def _inherited(own: Json, defaults: Json) -> Json:
    """What of the defaults holds for a job: not what goes only with something that the job says otherwise."""
    left = dict(defaults)
    if own.get("overlap", left.get("overlap")) != "queue":
        left.pop("overlap_queue", None)
    if own.get("after") is not None:
        left.pop("jitter", None)
    return left


def _draft(name: str, own: Json, defaults: Json) -> Json:
    """The fields of a JobDraft."""
    both = {**defaults, **own}
    for part in PARTS:
        if part in own and part in defaults:
            both[part] = {**defaults[part], **own[part]}
    draft: Json = {"name": name}
    target = {key: both.pop(key) for key in ("command", "shell") if key in both}
    schedule = {key: both.pop(key) for key in (*TIMES, *MANNER) if key in both}
    if target:
        draft["target"] = target
    if schedule:
        draft["schedule"] = schedule
    return draft | both


def _plain(key: str, value: Any) -> Any:
    """A time of TOML as a text."""
    return value.isoformat() if key == "at" and isinstance(value, date | datetime) else value


def together(files: "list[JobFile]") -> None:
    """What is wrong with files only because of one another: names that are there twice, and jobs in a circle."""
    seen: dict[str, JobFile] = {}
    jobs: dict[str, tuple[JobFile, FileJob]] = {}
    for file in files:
        for job in file.jobs:
            if job.name in seen and seen[job.name] is not file:
                file.tell_of(
                    job, "name", f"{seen[job.name].path} has a job {words_of(job.name)} too", "choose another name"
                )
            else:
                seen[job.name] = file
                jobs[job.name] = (file, job)
    for circle in circles({name: job.after for name, (_, job) in jobs.items()}):
        file, job = jobs[circle[0]]
        file.tell_of(job, "schedule.after", *for_ever(circle))


def for_ever(circle: list[str]) -> tuple[str, str]:
    """What is wrong with jobs in a circle, and what to do."""
    way = " after ".join([*circle, circle[0]])
    return f"these come after one another for ever: {way}", "one of them needs another time"


def circles(after: Mapping[str, str | None]) -> Iterator[list[str]]:
    """Each circle of more than one job, once."""
    done: set[str] = set()
    for name in after:
        way: list[str] = []
        at: str | None = name
        while at is not None and at in after and at not in done:
            done.add(at)
            way.append(at)
            at = after[at]
        if at in way and len(way) - way.index(at) > 1:
            yield way[way.index(at) :]
