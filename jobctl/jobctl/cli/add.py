"""`jobctl add`: a job with a schedule, or one that is run by hand."""

# ruff: noqa: ARG001  the options are read together, as ctx.params

import re
from shlex import quote
from typing import Annotated, Any

import typer

from jobctl.cli import draft
from jobctl.cli.added import show_added
from jobctl.cli.draft import ABOUT, LIMITS, WHAT, WHEN, named
from jobctl.cli.session import Session
from jobctl.cli.times import milliseconds
from jobctl.errors import InvalidInput

EXAMPLES = (
    ('jobctl add backup --cron "0 3 * * *" -- /usr/local/bin/backup --full', "every day at 03:00, host time"),
    ('jobctl add report --cron "30 8 * * 1-5" --tz Europe/Berlin --shell "make report | mail boss"', ""),
    ("jobctl add poll --every 90s --timeout 30s -- /opt/poll", "every 90 seconds from now on"),
    ("jobctl add --in 10m -- systemctl restart web", "once; the name is made from the command"),
    ("jobctl add --line '*/5 * * * * cd /srv && ./sync' --dry-run", "what a crontab line would become"),
)

_CRON_FIELDS = 5
_CRON_FIELD = re.compile(r"[0-9*,/A-Za-z-]{1,40}")
OVERLAPS = ("allow", "skip")
MISFIRES = ("once", "all", "skip")

_Str = str | None


def verb(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]", help="a name; else one is made", show_default=False)
    ] = None,
    cron: Annotated[
        _Str,
        typer.Option("--cron", metavar="EXPRESSION", help='five fields or @daily: "0 3 * * *"', rich_help_panel=WHEN),
    ] = None,
    every: Annotated[
        _Str,
        typer.Option(
            "--every", metavar="DURATION", help="at an interval, from now on: `90s`, `2h`", rich_help_panel=WHEN
        ),
    ] = None,
    at: draft.At = None,
    after: draft.In = None,
    on_boot: Annotated[
        bool, typer.Option("--on-boot", help="once after each boot of the host", rich_help_panel=WHEN)
    ] = False,
    on_start: Annotated[
        bool, typer.Option("--on-start", help="each time the daemon starts", rich_help_panel=WHEN)
    ] = False,
    line: Annotated[
        _Str,
        typer.Option(
            "--line", metavar="LINE", help="schedule, input and command of a crontab line", rich_help_panel=WHEN
        ),
    ] = None,
    tz: draft.Zone = None,
    jitter: Annotated[
        _Str, typer.Option("--jitter", metavar="DURATION", help="start up to so much later", rich_help_panel=WHEN)
    ] = None,
    dst_gap: Annotated[
        _Str,
        typer.Option(
            "--dst-gap",
            metavar="POLICY",
            help="times that a clock change skips: auto, run-after, skip",
            rich_help_panel=WHEN,
        ),
    ] = None,
    dst_overlap: Annotated[
        _Str,
        typer.Option(
            "--dst-overlap",
            metavar="POLICY",
            help="times that occur twice: auto, first, second, both",
            rich_help_panel=WHEN,
        ),
    ] = None,
    shell: draft.Shell = None,
    env: draft.Env = None,
    env_file: Annotated[
        _Str,
        typer.Option(
            "--env-file", metavar="FILE", help="variables, read at each run as the job's user", rich_help_panel=WHAT
        ),
    ] = None,
    payload: Annotated[
        _Str, typer.Option("--payload", metavar="FILE", help="standard input, opened at each run", rich_help_panel=WHAT)
    ] = None,
    stdin: draft.Stdin = None,
    user: draft.User = None,
    cwd: draft.Cwd = None,
    umask: draft.Umask = None,
    nice: Annotated[int | None, typer.Option("--nice", metavar="N", help="-20 to 19", rich_help_panel=WHAT)] = None,
    timeout: draft.Timeout = None,
    grace: draft.Grace = None,
    overlap: Annotated[
        _Str,
        typer.Option(
            "--overlap", metavar="allow|skip", help="while an earlier run is active (skip)", rich_help_panel=LIMITS
        ),
    ] = None,
    misfire: Annotated[
        _Str,
        typer.Option(
            "--misfire",
            metavar="once|all|skip",
            help="times that passed while nothing could start it (once)",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    misfire_within: Annotated[
        _Str,
        typer.Option(
            "--misfire-within",
            metavar="DURATION",
            help="how late it may still be made up (24h; skip: 60s)",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    late_after: Annotated[
        _Str,
        typer.Option(
            "--late-after", metavar="DURATION", help="when a start counts as late (10s)", rich_help_panel=LIMITS
        ),
    ] = None,
    log_max: draft.LogMax = None,
    paused: Annotated[
        bool, typer.Option("--paused", help="add it, but do not start it", rich_help_panel=ABOUT)
    ] = False,
    note: draft.Note = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="may repeat", rich_help_panel=ABOUT)
    ] = None,
    idempotency_key: draft.Key = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would be added")] = False,
    quiet: draft.Quiet = False,
) -> None:
    """Add a job. The command behind -- is run as it is, without a shell; --shell LINE runs a line."""
    session: Session = ctx.obj
    name, extra = (words[0], words[1:]) if words else (None, [])
    _expected(words or [], extra, ctx.params["cron"])
    options = {**ctx.params, "name": name}
    body = _body(session, options)
    found = _slips(session, options, body)
    client = session.reader() if dry_run else session.writer()
    if dry_run:
        answer = draft.told(lambda: client.preview_job(body))
        answer["warnings"] = [*answer.get("warnings", ()), *found]
        show_added(session, answer, stored=False)
        return
    job = draft.told(lambda: client.create_job(body, idempotency_key))
    if quiet:
        session.render.line(str(job["id"]))
    elif session.render.machine:
        show_added(session, {"job": job}, stored=True)
    else:
        preview = client.job_next(job["id"], 3)
        show_added(session, {"job": job, "preview": preview, "warnings": found}, stored=True)
        return
    for slip in found:
        session.render.word(f"warning: {slip}")


def _slips(session: Session, options: dict[str, Any], body: dict[str, Any]) -> list[str]:
    """What of it is likely to mean something else, as far as this side can see."""
    from jobctl.cli.slips import clock_change, slips
    from jobctl.schedule import host_zone

    found = slips(body, uid=session.world.uid, environ=session.world.environ)
    if options["at"] is not None:
        at_ms = milliseconds(body["schedule"]["at"])
        found += clock_change(options["at"], at_ms, options["tz"] or host_zone()[0])
    return found


def _body(session: Session, options: dict[str, Any]) -> dict[str, Any]:
    """The JobDraft."""
    draft.check_durations(options, ("every", "jitter", "timeout", "grace", "misfire_within", "late_after"))
    draft.choice("--overlap", options["overlap"], OVERLAPS)
    draft.choice("--misfire", options["misfire"], MISFIRES)
    read = _line(options["line"]) if options["line"] is not None else {}
    if read and (session.command is not None or options["shell"] is not None):
        raise InvalidInput("--line has a command already", "leave -- COMMAND and --shell out", field="--line")
    body: dict[str, Any] = draft.plain(options)
    body |= {"target": read.pop("target", None) or draft.target(session, options["shell"]), "source": "cli"}
    if options["stdin"] is not None and options["payload"] is not None:
        raise InvalidInput("--stdin and --payload are two inputs", "leave one of them out", field="--payload")
    if read.get("stdin") is not None:
        body["stdin"] = read["stdin"]
    plan = _schedule(session, options, read.get("schedule", {}), body["target"])
    if plan:
        body["schedule"] = plan
    if options["tz"] is not None:
        body["timezone"] = options["tz"]
    body |= {name: draft.path(options[name]) for name in ("cwd", "env_file") if options[name]}
    body |= {"payload_ref": draft.path(options["payload"])} if options["payload"] else {}
    body |= {"env": draft.variables(options["env"], session.world.environ)} if options["env"] else {}
    body |= {"tags": list(options["tag"])} if options["tag"] else {}
    body |= {"paused": True} if options["paused"] else {}
    return body


def _schedule(
    session: Session, options: dict[str, Any], of_line: dict[str, Any], target: dict[str, Any]
) -> dict[str, Any]:
    """At most one of the kinds of schedule, and how it is carried out."""
    at = draft.moment(session, options, draft.run_now(target))
    kinds: dict[str, Any] = {
        "--line": of_line or None,
        "--cron": options["cron"],
        "--every": options["every"],
        "--in" if options["after"] is not None else "--at": at,
        "--on-boot": options["on_boot"] or None,
        "--on-start": options["on_start"] or None,
    }
    if options["at"] is not None and options["after"] is not None:
        raise InvalidInput("a job has one schedule, not --at and --in", "keep one", field="schedule")
    given = {option: value for option, value in kinds.items() if value is not None}
    if len(given) > 1:
        raise InvalidInput(f"a job has one schedule, not {' and '.join(given)}", "make a job of each, or keep one")
    plan: dict[str, Any] = {}
    for option, value in given.items():
        field = option.removeprefix("--").replace("-", "_")
        plan |= value if isinstance(value, dict) else {"at" if field == "in" else field: value}
    if options["cron"] is not None:
        _checked_cron(options["cron"])
    for name in ("jitter", "dst_gap", "dst_overlap"):
        if options[name] is not None:
            plan[name] = options[name]
    return plan


def _expected(words: list[str], extra: list[str], cron: str | None) -> None:
    """One word is the name. More are the rest of an expression without quotes (its `*` may be names of files by now),
    or the command.
    """
    if cron is not None and words and not cron.startswith("@") and len(cron.split()) < _CRON_FIELDS:
        fields = [*cron.split(), *words[len(cron.split()) - _CRON_FIELDS :]]
        plain = len(fields) == _CRON_FIELDS and all(_CRON_FIELD.fullmatch(field) for field in fields)
        example = " ".join(fields) if plain else "0 3 * * *"
        if extra or plain:
            raise InvalidInput(
                f"--cron takes one argument, and {cron!r} is not all of it",
                f'put the expression in quotes: --cron "{example}"',
                field="--cron",
            )
    if extra:
        draft.refuse_words(extra, f"add {words[0]}", " ".join(map(quote, extra)))


def _checked_cron(text: str) -> None:
    """Refused here, before a daemon is started for it."""
    from jobctl.schedule import parse_cron

    if text.removeprefix("@").startswith("every"):
        from jobctl.cli.hints import duration_hint

        wanted = text.removeprefix("@").removeprefix("every").strip()
        meant = duration_hint(wanted).rpartition(" ")[2] or wanted or "10m"
        raise InvalidInput(f"--cron {text!r} is an interval", f"write it as --every {meant}", field="--cron")
    if text.strip() == "@reboot":
        raise InvalidInput("@reboot is not a time", "write it as --on-boot", field="--cron")
    named("--cron", lambda: parse_cron(text))


def _line(text: str) -> dict[str, Any]:
    """Schedule, command and input of one crontab line, read exactly as cron reads it."""
    from jobctl.crontabs.line import parse_line

    entry = named("--line", lambda: parse_line(text))
    plan = {"on_boot": True} if entry.schedule == "@reboot" else {"cron": entry.schedule}
    return {"target": {"shell": entry.command}, "stdin": entry.input, "schedule": plan}
