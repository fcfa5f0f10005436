"""`jobctl show`: one job or one run, all of it."""

from typing import Annotated, Any

import typer

from jobctl.cli import describe
from jobctl.cli.added import directory, path, policies, when
from jobctl.cli.dead import count_words
from jobctl.cli.select import find_run, named_job, no_such, runs_called
from jobctl.cli.session import Session
from jobctl.cli.worked import work_of
from jobctl.client.sync import Client
from jobctl.errors import InvalidInput, NotFound
from jobctl.reading import attempts
from jobctl.reading.facts import of_run, of_work
from jobctl.reading.times import Viewer, duration, no_time, of_fire, took

EXAMPLES = (
    ("jobctl show backup", ""),
    ("jobctl show 12", "job 12, else run 12"),
    ("jobctl show 4812 --run", "a run, whatever jobs there are"),
    ("jobctl show backup --json | jq .next_run_at", ""),
)
_RUNS = 5
#: So many runs that have not started are looked through for retries.
_LOOKED_AT = 100
_FIRES = 3
_INDENT = 13

Fact = tuple[str, str]


def verb(
    ctx: typer.Context,
    which: Annotated[str, typer.Argument(metavar="JOB|RUN", help="a job's name, id or uid, else a run's id")],
    run: Annotated[bool, typer.Option("--run", help="it is a run")] = False,
    job: Annotated[bool, typer.Option("--job", help="it is a job")] = False,
) -> None:
    """Show everything about one job or run. A number is a job when there is one, else a run."""
    session: Session = ctx.obj
    if run and job:
        raise InvalidInput("--run and --job exclude each other", "leave one of them out")
    client = session.reader()
    if run:
        _show_run(session, client, find_run(client, which))
        return
    try:
        found = named_job(client, which)
    except NotFound as error:
        if job:
            raise no_such(client, which, error) from error
        _show_run(session, client, _run_instead(client, which, error))
    else:
        _show_job(session, client, found)


def _run_instead(client: Client, which: str, error: NotFound) -> dict[str, Any]:
    """No job has this name or number."""
    if which.isdigit():
        return find_run(client, which)
    found = next(runs_called(client, which, 1), None)
    if found is None:
        raise no_such(client, which, error) from error
    return found


def _show_job(session: Session, client: Client, job: dict[str, Any]) -> None:
    render = session.render
    if render.machine:
        _machine(session, job, str(job["name"]))
        return
    active = _active(client, job)
    shown = {run["id"] for run in active}
    runs = [run for run in client.job_runs(job["id"], limit=_RUNS + len(active)) if run["id"] not in shown][:_RUNS]
    preview = client.job_next(job["id"], _FIRES) if job["schedule"] and not job["error"] else {}
    state = str(describe.job_state(job).text)
    render.line(f"{job['name']}   {state}   id {job['id']}")
    _print(
        session,
        [
            *_job_facts(session, job, preview),
            *_active_lines(session, active),
            *_run_lines(session, runs, alone=not active),
            *_durations(client, job),
        ],
    )


def _job_facts(session: Session, job: dict[str, Any], preview: dict[str, Any]) -> list[Fact]:
    viewer, plan = session.viewer, job["schedule"]
    facts: list[Fact] = [("command", describe.target(job))]
    facts.append(("runs as", f"{job['user'] or job['owner']} in {directory(job)}"))
    facts += path(job)
    if plan is None:
        facts.append(("schedule", "by hand only"))
    else:
        facts.append(("schedule", f"{describe.schedule(job)}   {when(plan)}"))
        facts += _extras(plan)
    if job["error"]:
        facts.append(("parked", job["error"]))
    held = describe.held_and_ended(job, viewer)
    if held:
        word, _, text = held.partition(" ")
        facts.append(("held", held) if job["quarantined"] else (word.strip(":"), text))
    facts += _fires(job, preview.get("items", []), viewer)
    timed = plan and (plan.get("cron") or plan.get("every") or plan.get("at"))
    if plan and not preview.get("items") and not job["error"] and not (timed and job["last_run"]):
        facts.append(("would be" if held else "next", no_time(plan["words"])))
    facts += policies(job)
    given = (("stdin", "stdin"), ("payload", "payload_ref"), ("env file", "env_file"), ("note", "note"))
    facts += [(label, str(job[name])) for label, name in given if job[name]]
    if job.get("login_env"):
        facts.append(("env", "of a login: /etc/environment, /etc/default/locale"))
    facts += [("env", f"{name}={value}") for name, value in job["env"].items() if name != "PATH"]
    facts.append(("umask", f"{job['umask']}   nice {job['nice']}   queue {job['queue']}   priority {job['priority']}"))
    if job["tags"]:
        facts.append(("tags", " ".join(job["tags"])))
    if job.get("declared"):
        facts.append(("from", f"{describe.origin(job)}: it is changed there"))
    made = "" if job.get("declared") else f"from {job['source']}, "
    facts.append(("added", f"{viewer.both(job['created_at'])}   {made}version {job['version']}, uid {job['uid']}"))
    if job["dead"]:
        facts.append(("dead", f"{count_words(job['dead'])}: jobctl dlq ls {job['name']}"))
    if describe.keeps_skipping(job):
        facts.append(("skipping", f"{job['skipping']} occurrences in a row: jobctl why {job['name']}"))
    return facts


def _fires(job: dict[str, Any], fires: list[dict[str, Any]], viewer: Viewer) -> list[Fact]:
    """Those that what holds the job would swallow, and those that come."""
    facts: list[Fact] = []
    before = ""
    for fire in fires:
        held = describe.held_then(job, fire["at"], viewer)
        label = "would be" if held else "next"
        until = f"   {held}" if held.startswith("paused until") else ""
        facts.append(("" if label == before else label, f"{of_fire(fire)}, {viewer.ago(fire['at'])}{until}"))
        before = label
    return facts


def _extras(plan: dict[str, Any]) -> list[Fact]:
    words = [f"jitter up to {duration(plan['jitter'])}"] if plan.get("jitter") else []
    words += [
        f"{name.replace('_', ' ')} {plan[name]}"
        for name in ("dst_gap", "dst_overlap")
        if plan.get(name, "auto") != "auto"
    ]
    return [("", ", ".join(words))] if words else []


def _active(client: Client, job: dict[str, Any]) -> list[dict[str, Any]]:
    """What runs, and what waits for a retry: newer runs that were skipped would hide it."""
    states = [state for state, number in (("running", job["running"]), ("scheduled,ready", job["retrying"])) if number]
    found = [run for state in states for run in client.job_runs(job["id"], limit=_LOOKED_AT, state=state)]
    return [run for run in found if run["state"] == "running" or describe.waits_for_retry(run)][:_RUNS]


def _active_lines(session: Session, runs: list[dict[str, Any]]) -> list[Fact]:
    viewer = session.viewer
    lines = []
    for run in runs:
        if run["state"] == "running":
            since = f" for {describe.run_age(run, viewer)}, since {viewer.clock(run['started_at'])}"
            lines.append(("running", f"run {run['id']}" + (since if run["started_at"] else "")))
        else:
            lines.append(("retrying", f"run {run['id']}  {describe.failure(run)}; {describe.retry(run, viewer)}"))
    return lines


def _run_lines(session: Session, runs: list[dict[str, Any]], *, alone: bool) -> list[Fact]:
    viewer = session.viewer
    lines = []
    clock = viewer.alike(run["started_at"] or run["finished_at"] or run["due_at"] for run in runs)
    for index, run in enumerate(runs):
        taken = describe.run_time(run, viewer)
        at = run["started_at"] or run["finished_at"]
        when = viewer.both(at, clock) if at else f"due {viewer.both(run['due_at'], clock)}"
        text = f"run {run['id']}  {describe.ended(run)}" + (f" after {taken}" if run["finished_at"] and taken else "")
        lines.append(("last" if index == 0 else "", f"{text}   {when}"))
    return lines or ([("last", "has not run yet")] if alone else [])


def _durations(client: Client, job: dict[str, Any]) -> list[Fact]:
    """How long it usually takes, and the last ones drawn beside each other."""
    if not job["last_run"]:
        return []
    try:
        found = client.durations(job["id"])
    except NotFound:  # a daemon of before
        return []
    if found["p50"] is None:
        return []
    count = found["count"]
    many = f", of {count} runs that succeeded" if count > 1 else ", the one run that succeeded"
    usual = f"half within {took(found['p50'])}, 95 % within {took(found['p95'])}" if count > 1 else took(found["p50"])
    return [("takes", usual + many)]


def _show_run(session: Session, client: Client, run: dict[str, Any]) -> None:
    render, work = session.render, work_of(client, run)
    if render.machine:
        _machine(session, {**run, "work": work}, str(run["id"]))
        return
    render.flow(f"run {run['id']} of {run['job']}   {describe.ended(run)}")
    _print(session, [*of_run(run, session.viewer), *of_work(work)])
    _print(session, attempts.facts(client.attempts(run["id"]), session.viewer, state=str(run["state"])))
    _print(session, _what_next(session, run))


def _what_next(session: Session, run: dict[str, Any]) -> list[Fact]:
    """What comes of it, or can be done."""
    if describe.waits_for_retry(run):
        return [("next", describe.retry(run, session.viewer)), ("", f"now: jobctl retry {run['id']}")]
    if describe.waits_for_replay(run):
        return [("next", f"its replay is due {session.viewer.both(run['due_at'])}")]
    if run["state"] == "dead":
        return [("next", f"jobctl dlq show {run['id']}, jobctl dlq replay {run['id']}")]
    return []


def _machine(session: Session, item: dict[str, Any], name: str) -> None:
    if session.render.output in {"name", "csv"}:
        session.render.names([name])
    else:
        session.render.json(item)


def _print(session: Session, facts: list[Fact]) -> None:
    for label, text in facts:
        session.render.fact(f"  {label}", text, _INDENT)
