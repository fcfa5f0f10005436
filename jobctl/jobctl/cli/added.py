"""What `jobctl add` says of a job: when it runs, what holds for it, and what is promised."""

from json import dumps as json_string
from shlex import quote
from typing import Any, Final

from jobctl.cli import describe
from jobctl.cli.session import Session
from jobctl.cli.weakness import weak_points
from jobctl.defaults import ADD, MISFIRE_WITHIN_MS, PRIORITIES
from jobctl.reading.times import Viewer, duration, milliseconds, no_time, of_fire

_INDENT = 12
_MAILED = {
    "output": "what each run prints",
    "failure": "what a run printed that failed for good",
    "always": "of every run, also when it printed nothing",
}
_PROMISE = (
    "at least once: after a crash of the host a run may start again, under the same JOBCTL_RUN_KEY; "
    "what must not happen twice is for the command to check with that key"
)
#: The policies of a job that says nothing, as the API shows them.
_DEFAULT: Final = {
    "overlap": ADD.overlap, "limit": ADD.limit, "misfire": ADD.misfire, "timeout": ADD.timeout_ms,
    "misfire_within": MISFIRE_WITHIN_MS[ADD.misfire] / 1000, "grace": ADD.grace_ms / 1000, "log_max": ADD.log_max,
    "late_after": ADD.late_after_ms / 1000, "on_failure": ADD.on_failure,
    "retry": {"max": ADD.retries, "backoff": ADD.backoff_ms / 1000, "backoff_max": ADD.backoff_max_ms / 1000,
              "no_retry_on": [], "on_lost": ADD.on_lost, "lost": ADD.lost_retries},
}  # fmt: skip


def show_added(session: Session, answer: dict[str, Any], *, stored: bool) -> None:
    """`answer` has `job`, and for people `preview` and `warnings`.

    On a terminal what holds by default is left out of what is stored, and can be looked up; the warnings come last,
    where the eye ends.
    """
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
    briefly = stored and render.out.terminal
    for label, text in [*_facts(job, preview, session.viewer), *_rules(job, briefly=briefly)]:
        render.fact(f"  {label}", text, _INDENT)
    if briefly:
        render.word(f"try it now: jobctl run {quote(job['name'])} --follow")
    for warning in dict.fromkeys(
        [
            *answer.get("warnings", ()),
            *preview.get("warnings", ()),
            *_past(job, session.viewer),
            *(f"it runs as {job['user'] or job['owner']}, and {point}" for point in weak_points(session, job)),
        ]
    ):
        render.word(f"warning: {warning}", mark="warn")


def _facts(job: dict[str, Any], preview: dict[str, Any], viewer: Viewer) -> list[tuple[str, str]]:
    plan = job.get("schedule")
    facts = [("when", when(plan))]
    coming = fires(preview, viewer)
    facts += zip(["next", "", ""], coming, strict=False)
    if plan and not coming and not plan.get("after"):
        facts.append(("next", _without_fires(job, plan)))
    facts.append(("runs", f"{describe.target(job)}   (as {job['user'] or job['owner']}, in {directory(job)})"))
    facts += path(job)
    if job["stdin"]:
        facts.append(("input", json_string(job["stdin"])))
    return facts


def _rules(job: dict[str, Any], *, briefly: bool) -> list[tuple[str, str]]:
    """What holds for its runs; `briefly` without what holds for every job that says nothing."""
    if not briefly:
        return [*policies(job), ("delivery", _PROMISE)]
    plain = policies(job | _DEFAULT)[0], ("failure", failure(job | _DEFAULT))
    rest = f"as every job, and delivered at least once: jobctl show {quote(job['name'])}"
    return [*(fact for fact in policies(job) if fact not in plain), ("else", rest)]


def directory(job: dict[str, Any]) -> str:
    """Where its commands begin."""
    return str(job["cwd"] or ADD.directory)


def path(job: dict[str, Any]) -> list[tuple[str, str]]:
    """PATH of its commands; in a list of jobs `env` is left out, and so is this."""
    own = (job.get("env") or {}).get("PATH") or job.get("path")
    return [("PATH", str(own))] if own else []


def fires(preview: dict[str, Any], viewer: Viewer) -> list[str]:
    """The first three of a preview, each with what the clock does then."""
    notes = {"gap": "  (the clock goes forward)", "overlap": "  (the clock goes back)"}
    return [
        f"{of_fire(fire)}, {viewer.ago(fire['at'])}{notes.get(fire.get('note') or '', '')}"
        for fire in preview.get("items", [])[:3]
    ]


def when(plan: dict[str, Any] | None) -> str:
    """A schedule in words; with its zone where it has times."""
    if plan is None:
        return "by hand only: it has no schedule"
    return str(plan["words"]) if plan.get("after") else f"{plan['words']}, {plan['timezone']}"


def _without_fires(job: dict[str, Any], plan: dict[str, Any]) -> str:
    if job["paused"]:
        return "paused"
    if plan.get("at"):
        return "it has run" if job["last_run"] else "now"
    return no_time(plan["words"])


def policies(job: dict[str, Any]) -> list[tuple[str, str]]:
    """What holds for its runs, defaults included, and who is told of failures: a label and a text each."""
    facts = [("policy", policy(job)), ("failure", failure(job)), ("told", told(job)), *mailed(job)]
    if (job["queue"], job["priority"]) != (ADD.queue, ADD.priority):
        facts.insert(1, ("queue", f"{job['queue']} · priority {_priority(job['priority'])}"))
    return facts


def policy(job: dict[str, Any]) -> str:
    """When its runs start and are stopped."""
    misfire = f"misfire {job['misfire']}"
    if (job.get("schedule") or {}).get("at"):
        misfire = "however late"  # a one-shot has no window
    elif job["misfire_within"]:
        misfire += f" within {duration(job['misfire_within'])}"
    return " · ".join(
        [
            _overlap(job),
            misfire,
            f"timeout {duration(job['timeout']) if job['timeout'] else 'none'}",
            f"grace {duration(job['grace'])}",
            f"late after {duration(job['late_after'])}",
            f"log {describe.size(job['log_max'])}",
        ]
    )


def failure(job: dict[str, Any]) -> str:
    """What happens after an attempt failed, and at last."""
    retry = job["retry"]
    parts = [f"retries {retry['max']}"]
    if retry["max"]:
        parts[0] += f" ({duration(retry['backoff'])}, ×2, cap {duration(retry['backoff_max'])})"
    if retry["no_retry_on"]:
        parts.append(f"none on {', '.join(retry['no_retry_on'])}")
    lost = f"retry {retry['lost']}" if retry["on_lost"] == "retry" else retry["on_lost"]
    at_last = "dead letter" if job["on_failure"] == "dead" else "recorded"
    return " · ".join([*parts, f"lost: {lost}", f"at last: {at_last}"])


def told(job: dict[str, Any]) -> str:
    """Who is told of failures and of the recovery."""
    if job["notify"] or not job.get("declared"):
        return ", ".join(job["notify"]) or "nobody: give --notify mail or --notify exec:COMMAND"
    return "nobody" if of_crontab(job) else 'nobody: give notify = ["mail"] in its file'


def of_crontab(job: dict[str, Any]) -> bool:
    """Whether a line of a crontab made it: what there is no word for in such a line, it cannot have."""
    return str(job.get("source", "")).startswith("crontab:")


def mailed(job: dict[str, Any]) -> list[tuple[str, str]]:
    """Who gets the output of its runs, and when; nothing where nobody does."""
    mail = job.get("mail")
    if not mail:
        return []
    otherwise = "as crontab_mail in jobd.toml says" if of_crontab(job) else _MAILED["output"]
    return [("mail", f"{mail['to']}, {_MAILED.get(mail['on'], otherwise)}")]


def _overlap(job: dict[str, Any]) -> str:
    text = f"overlap {job['overlap']}"
    if job["overlap"] == "queue":
        text += f" (up to {job['overlap_queue']} wait)"
    return text + (f" · at most {job['limit']} at once" if job["limit"] else "")


def _priority(number: int) -> str:
    word = next((word for word, value in PRIORITIES.items() if value == number), "")
    return f"{number} ({word})" if word else str(number)


def _past(job: dict[str, Any], viewer: Viewer) -> list[str]:
    at = (job.get("schedule") or {}).get("at")
    if at and milliseconds(at) < viewer.now_ms and not job["last_run"]:
        return [f"{viewer.full(at)} has passed: it runs now"]
    return []
