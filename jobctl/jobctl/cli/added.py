"""What `jobctl add` says of a job: when it runs, what holds for it, and what is promised."""

from json import dumps as json_string
from typing import Any

from jobctl.cli import describe
from jobctl.cli.session import Session
from jobctl.cli.times import Viewer, duration, milliseconds, no_time, of_fire

_INDENT = 12
_PROMISE = (
    "at least once: after a crash of the host a run may start again, under the same JOBCTL_RUN_KEY; "
    "what must not happen twice is for the command to check with that key"
)


def show_added(session: Session, answer: dict[str, Any], *, stored: bool) -> None:
    """`answer` has `job`, and for people `preview` and `warnings`."""
    job, preview = answer["job"], answer.get("preview") or {}
    render = session.render
    if render.output == "name":
        render.names([job["name"]])
        return
    if render.machine:
        render.json(job if stored else answer)
        return
    head = f"added {job['name']}, id {job['id']}" if stored else f"would add {job['name']}"
    render.line(head)
    for label, text in _facts(job, preview, session.viewer):
        render.fact(f"  {label}", text, _INDENT)
    for warning in dict.fromkeys(
        [*answer.get("warnings", ()), *preview.get("warnings", ()), *_past(job, session.viewer)]
    ):
        render.word(f"warning: {warning}")
    if stored and render.out.terminal:
        render.word(f"try it now: jobctl run {job['name']} --follow")


def _facts(job: dict[str, Any], preview: dict[str, Any], viewer: Viewer) -> list[tuple[str, str]]:
    plan = job.get("schedule")
    facts = [("when", f"{plan['words']}, {plan['timezone']}" if plan else "by hand only: it has no schedule")]
    fires = preview.get("items", [])[:3]
    for label, fire in zip(["next", "", ""], fires, strict=False):
        note = {"gap": "  (the clock goes forward)", "overlap": "  (the clock goes back)"}.get(
            fire.get("note") or "", ""
        )
        facts.append((label, f"{of_fire(fire)}, {viewer.ago(fire['at'])}{note}"))
    if plan and not fires:
        facts.append(("next", _without_fires(job, plan)))
    where = [f"as {job['user'] or job['owner']}"] + ([f"in {job['cwd']}"] if job.get("cwd") else [])
    facts.append(("runs", f"{describe.target(job)}   ({', '.join(where)})"))
    if job["stdin"]:
        facts.append(("input", json_string(job["stdin"])))
    facts.append(("policy", policy(job)))
    facts.append(("delivery", _PROMISE))
    return facts


def _without_fires(job: dict[str, Any], plan: dict[str, Any]) -> str:
    if job["paused"]:
        return "paused"
    if plan.get("at"):
        return "it has run" if job["last_run"] else "now"
    return no_time(plan["words"])


def policy(job: dict[str, Any]) -> str:
    """What holds for its runs, defaults included."""
    misfire = f"misfire {job['misfire']}"
    if (job.get("schedule") or {}).get("at"):
        misfire = "however late"  # a one-shot has no window
    elif job["misfire_within"]:
        misfire += f" within {duration(job['misfire_within'])}"
    return " · ".join(
        [
            f"overlap {job['overlap']}",
            misfire,
            f"timeout {duration(job['timeout']) if job['timeout'] else 'none'}",
            f"grace {duration(job['grace'])}",
            f"late after {duration(job['late_after'])}",
            f"log {describe.size(job['log_max'])}",
        ]
    )


def _past(job: dict[str, Any], viewer: Viewer) -> list[str]:
    at = (job.get("schedule") or {}).get("at")
    if at and milliseconds(at) < viewer.now_ms and not job["last_run"]:
        return [f"{viewer.full(at)} has passed: it runs now"]
    return []
