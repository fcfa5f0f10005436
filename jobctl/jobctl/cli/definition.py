"""The options that say what a job is, declared once for `add`, `edit` and `run`.

The defaults they name are those of `jobctl.defaults`.
"""

from typing import Annotated, Any, NamedTuple

import typer

from jobctl.defaults import ADD, MISFIRE_WITHIN_MS, RUN, duration

WHEN = "When"
WHAT = "What and as whom"
LIMITS = "Limits and policies"
FAILURES = "When it fails"
ABOUT = "About it"

_WITHIN = duration(MISFIRE_WITHIN_MS["once"])
_SKIP_GRACE = duration(MISFIRE_WITHIN_MS["skip"])

Text = str | None


def _option(*names: str, value: str | None = None, help: str, section: str) -> Any:  # noqa: A002
    return typer.Option(*names, metavar=value, help=help, rich_help_panel=section)


# ── when ──────────────────────────────────────────────
Cron = Annotated[Text, _option("--cron", value="EXPRESSION", help='five fields or @daily: "0 3 * * *"', section=WHEN)]
Every = Annotated[
    Text, _option("--every", value="DURATION", help="at an interval, from now on: `90s`, `2h`", section=WHEN)
]
At = Annotated[
    Text,
    _option("--at", value="TIME", help="once: `17:30`, `tomorrow 09:00`, `2026-12-01T09:00Z`", section=WHEN),
]
In = Annotated[Text, _option("--in", value="DURATION", help="once, after `10m`, `2h30m`, `1d`", section=WHEN)]
After = Annotated[
    Text,
    _option(
        "--after",
        value="JOB[:END]",
        help="each time a run of that job ends with END: success, failure or any (success)",
        section=WHEN,
    ),
]
OnBoot = Annotated[bool, _option("--on-boot", help="once after each boot of the host", section=WHEN)]
OnStart = Annotated[bool, _option("--on-start", help="each time the daemon starts", section=WHEN)]
Line = Annotated[
    Text, _option("--line", value="LINE", help="schedule, input and command of a crontab line", section=WHEN)
]
Zone = Annotated[
    Text, _option("--tz", value="ZONE", help="its zone, as Europe/Berlin; else the job's, or the host's", section=WHEN)
]
Jitter = Annotated[Text, _option("--jitter", value="DURATION", help="start up to so much later", section=WHEN)]
DstGap = Annotated[
    Text,
    _option("--dst-gap", value="POLICY", help="times that a clock change skips: auto, run-after, skip", section=WHEN),
]
DstOverlap = Annotated[
    Text,
    _option("--dst-overlap", value="POLICY", help="times that occur twice: auto, first, second, both", section=WHEN),
]

# ── what and as whom ──────────────────────────────────────────────
Shell = Annotated[
    Text, _option("--shell", value="LINE", help="a line for /bin/sh -c instead of -- COMMAND", section=WHAT)
]
Env = Annotated[
    list[str] | None,
    _option("--env", value="K[=V]", help="a variable; without =V its value here, now; may repeat", section=WHAT),
]
EnvFile = Annotated[
    Text, _option("--env-file", value="FILE", help="variables, read at each run as the job's user", section=WHAT)
]
Payload = Annotated[Text, _option("--payload", value="FILE", help="standard input, opened at each run", section=WHAT)]
Stdin = Annotated[Text, _option("--stdin", value="TEXT", help="what the command reads", section=WHAT)]
User = Annotated[Text, _option("--user", value="NAME", help="as this user (root only)", section=WHAT)]
Cwd = Annotated[Text, _option("--cwd", value="DIR", help="in this folder", section=WHAT)]
Umask = Annotated[Text, _option("--umask", value="OCTAL", help="as 022", section=WHAT)]
Nice = Annotated[int | None, _option("--nice", value="N", help="-20 to 19", section=WHAT)]

# ── limits and policies ──────────────────────────────────────────────
Timeout = Annotated[
    Text, _option("--timeout", value="DURATION", help="stop a run after so long (none)", section=LIMITS)
]
Grace = Annotated[
    Text,
    _option("--grace", value="DURATION", help=f"between TERM and KILL ({duration(ADD.grace_ms)})", section=LIMITS),
]
Overlap = Annotated[
    Text,
    _option(
        "--overlap",
        value="allow|skip|queue[:N]|replace",
        help=f"due while an earlier run is active ({ADD.overlap}); queue: up to N wait for their turn "
        f"({ADD.overlap_queue}); replace: the earlier one is stopped",
        section=LIMITS,
    ),
]
Limit = Annotated[
    int | None,
    _option(
        "--limit", value="N", help="so many of its runs may be active at once (1; allow: any number)", section=LIMITS
    ),
]
Misfire = Annotated[
    Text,
    _option(
        "--misfire",
        value="once|all|skip",
        help=f"times that passed while nothing could start it ({ADD.misfire})",
        section=LIMITS,
    ),
]
MisfireWithin = Annotated[
    Text,
    _option(
        "--misfire-within",
        value="DURATION",
        help=f"how late it may still be made up ({_WITHIN}; skip: {_SKIP_GRACE})",
        section=LIMITS,
    ),
]
LateAfter = Annotated[
    Text,
    _option(
        "--late-after",
        value="DURATION",
        help=f"when a start counts as late ({duration(ADD.late_after_ms)})",
        section=LIMITS,
    ),
]
Queue = Annotated[
    Text, _option("--queue", value="NAME", help=f"whose jobs share a limit ({ADD.queue})", section=LIMITS)
]
Priority = Annotated[
    Text,
    _option(
        "--priority",
        value="N",
        help=f"inside its queue, -9 to 9, smaller goes first; high is -5, low is 5 ({ADD.priority})",
        section=LIMITS,
    ),
]
LogMax = Annotated[
    Text,
    _option(
        "--log-max", value="SIZE", help=f"keep at most so much output ({ADD.log_max // 1_000_000}MB)", section=LIMITS
    ),
]

# ── when it fails ──────────────────────────────────────────────
Retries = Annotated[
    int | None,
    _option("--retries", value="N", help=f"attempts after the first ({ADD.retries})", section=FAILURES),
]
RetriesOfRun = Annotated[
    int | None,
    _option("--retries", value="N", help=f"attempts after the first ({RUN.retries})", section=FAILURES),
]
Backoff = Annotated[
    Text,
    _option(
        "--backoff",
        value="DURATION",
        help=f"before the first retry, and twice as long before each further ({duration(ADD.backoff_ms)})",
        section=FAILURES,
    ),
]
BackoffMax = Annotated[
    Text,
    _option(
        "--backoff-max",
        value="DURATION",
        help=f"before a retry at most ({duration(ADD.backoff_max_ms)})",
        section=FAILURES,
    ),
]
NoRetryOn = Annotated[
    Text,
    _option(
        "--no-retry-on",
        value="LIST",
        help="exit codes and kinds of failure that end it at once: `3,oom,timed_out`",
        section=FAILURES,
    ),
]
OnLost = Annotated[
    Text,
    _option(
        "--on-lost",
        value="retry[:N]|dead|ask:COMMAND",
        help=f"when nobody can know how it ended ({ADD.on_lost}:{ADD.lost_retries}); COMMAND says 0: it was done, "
        "1: it was not",
        section=FAILURES,
    ),
]
OnFailure = Annotated[
    Text,
    _option(
        "--on-failure",
        value="dead|record",
        help=f"failed for good: kept for a replay, or only recorded ({ADD.on_failure})",
        section=FAILURES,
    ),
]
OnFailureOfRun = Annotated[
    Text,
    _option(
        "--on-failure",
        value="dead|record",
        help=f"failed for good: kept for a replay, or only recorded ({RUN.on_failure})",
        section=FAILURES,
    ),
]
Notify = Annotated[
    list[str] | None,
    _option(
        "--notify",
        value="DEST",
        help="who is told when it fails for good and when it works again: mail, mail:ADDRESS, exec:COMMAND; may repeat",
        section=FAILURES,
    ),
]
Mail = Annotated[
    Text,
    _option(
        "--mail",
        value="TO",
        help="who gets what it prints by mail, as cron sends it: login names or addresses, with commas",
        section=FAILURES,
    ),
]
MailOn = Annotated[
    Text,
    _option(
        "--mail-on",
        value="output|failure|always",
        help="after which runs: that printed something, that failed for good, or all (output)",
        section=FAILURES,
    ),
]

# ── about it ──────────────────────────────────────────────
Note = Annotated[Text, _option("--note", value="TEXT", help="what a reader should know", section=ABOUT)]
Tag = Annotated[list[str] | None, _option("--tag", value="TAG", help="may repeat", section=ABOUT)]
Key = Annotated[
    Text,
    _option("--idempotency-key", "--key", value="KEY", help="the same key never makes a second one", section=ABOUT),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="print the id only")]


class Definition(NamedTuple):
    """All of it, for `jobctl.cli.options.grouped`: as it was written, None where it was not."""

    cron: Cron = None
    every: Every = None
    at: At = None
    later: In = None
    after: After = None
    on_boot: OnBoot = False
    on_start: OnStart = False
    line: Line = None
    tz: Zone = None
    jitter: Jitter = None
    dst_gap: DstGap = None
    dst_overlap: DstOverlap = None
    shell: Shell = None
    env: Env = None
    env_file: EnvFile = None
    payload: Payload = None
    stdin: Stdin = None
    user: User = None
    cwd: Cwd = None
    umask: Umask = None
    nice: Nice = None
    timeout: Timeout = None
    grace: Grace = None
    overlap: Overlap = None
    limit: Limit = None
    misfire: Misfire = None
    misfire_within: MisfireWithin = None
    late_after: LateAfter = None
    queue: Queue = None
    priority: Priority = None
    log_max: LogMax = None
    retries: Retries = None
    backoff: Backoff = None
    backoff_max: BackoffMax = None
    no_retry_on: NoRetryOn = None
    on_lost: OnLost = None
    on_failure: OnFailure = None
    notify: Notify = None
    mail: Mail = None
    mail_on: MailOn = None
    note: Note = None
    tag: Tag = None
