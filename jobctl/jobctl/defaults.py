"""What holds where nothing is said, for each of the three ways a job comes to be: the one source of these values.

The daemon checks drafts against it, an import writes it into its drafts, and help texts and manual are made from
`rows` (`jobctl help defaults`). Times are ms, sizes bytes; words are those of
`jobctl.states`, as texts, because the command line loads this.
"""

from typing import Final, NamedTuple

#: Of the occurrences of one backlog, misfire *all* runs so many.
MISFIRE_ALL_MAX: Final = 10
#: Runs of one job that have not ended. What is due beyond it is skipped, what is asked for refused.
JOB_RUNS_MAX: Final = 10_000
#: The window of *once* and *all*, the grace of *skip*.
MISFIRE_WITHIN_MS: Final = {"once": 86_400_000, "all": 86_400_000, "skip": 60_000}
#: Words for `priority`; smaller goes first.
PRIORITIES: Final = {"high": -5, "normal": 0, "low": 5}
#: The PATH of cron's own commands.
CRON_PATH: Final = "/usr/bin:/bin"


class Defaults(NamedTuple):
    """The policies of a job that says nothing. `limit` None: one run at once, or any number under overlap allow."""

    overlap: str
    misfire: str
    retries: int
    lost_retries: int
    on_failure: str
    directory: str
    path: str
    timeout_ms: int | None = None
    grace_ms: int = 10_000
    late_after_ms: int = 10_000
    backoff_ms: int = 10_000
    backoff_max_ms: int = 3_600_000
    on_lost: str = "retry"
    limit: int | None = None
    overlap_queue: int = 1
    queue: str = "default"
    priority: int = 0
    log_max: int = 10_000_000


#: `jobctl add` and POST /v1/jobs.
ADD: Final = Defaults("skip", "once", 3, 3, "dead", directory="HOME", path="the host's login PATH")
#: Lines of a crontab: as cron does.
CRONTAB: Final = Defaults("allow", "skip", 0, 0, "record", directory="HOME", path=CRON_PATH)
#: `jobctl run -- CMD` and POST /v1/runs. It has no schedule, so overlap and misfire never come into it.
RUN: Final = Defaults("allow", "once", 0, 0, "record", directory="the caller's", path="the caller's")


class Row(NamedTuple):
    """A line of the table, in the words of a reader."""

    label: str
    add: str
    crontab: str
    run: str


HEADING: Final = Row("", "jobctl add", "imported crontab lines", "jobctl run -- CMD")
_NOT_ITS_OWN: Final = "–"


def rows() -> tuple[Row, ...]:
    """The whole table, without its heading."""
    return (
        Row("overlap", ADD.overlap, CRONTAB.overlap, _NOT_ITS_OWN),
        Row("runs at once", _limit(ADD), _limit(CRONTAB), _NOT_ITS_OWN),
        Row("misfire", _misfire(ADD), _misfire(CRONTAB), _NOT_ITS_OWN),
        Row("retries / lost budget", *(_retries(each) for each in _ALL)),
        Row("on failure", *(_on_failure(each) for each in _ALL)),
        Row("timeout / grace", *(f"{_timeout(each)} / {duration(each.grace_ms)}" for each in _ALL)),
        Row("late after", *(duration(each.late_after_ms) for each in _ALL)),
        Row("queue, priority", *(f"{each.queue}, {each.priority}" for each in _ALL)),
        Row("output kept", *(f"{each.log_max // 1_000_000}MB" for each in _ALL)),
        Row("directory, PATH", *(_place(each) for each in _ALL)),
    )


def duration(duration_ms: int) -> str:
    """As options take it: whole hours, else seconds."""
    hours, rest_ms = divmod(duration_ms, 3_600_000)
    return f"{hours}h" if hours and not rest_ms else f"{duration_ms // 1000}s"


_ALL: Final = (ADD, CRONTAB, RUN)


def _limit(each: Defaults) -> str:
    return str(each.limit or ("any number" if each.overlap == "allow" else 1))


def _misfire(each: Defaults) -> str:
    within = duration(MISFIRE_WITHIN_MS[each.misfire])
    if each.misfire == "skip":
        return f"skip, grace {within}"
    return f"{each.misfire}, within {within} (all: at most {MISFIRE_ALL_MAX})"


def _retries(each: Defaults) -> str:
    delays = f" ({duration(each.backoff_ms)}, ×2, cap {duration(each.backoff_max_ms)})" if each.retries else ""
    return f"{each.retries}{delays} / {each.lost_retries}"


def _on_failure(each: Defaults) -> str:
    return "dead letter" if each.on_failure == "dead" else each.on_failure


def _timeout(each: Defaults) -> str:
    return "none" if each.timeout_ms is None else duration(each.timeout_ms)


def _place(each: Defaults) -> str:
    return each.directory if each.directory == each.path else f"{each.directory}, {each.path}"
