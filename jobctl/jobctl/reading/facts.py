"""A run, and what it executed, as lines of label and text: the same in `jobctl show` and on the screen of a run."""

from json import dumps as json_string
from typing import Any

from jobctl.reading import runs
from jobctl.reading.times import Viewer

Fact = tuple[str, str]
Json = dict[str, Any]

_INPUT_CHARS_MAX = 200


def of_run(run: Json, viewer: Viewer) -> list[Fact]:
    """When and why, how it ended, and by what it is known."""
    clock = viewer.alike(run[f"{label}_at"] for label in ("scheduled", "due", "started", "finished"))
    due = viewer.both(run["due_at"], clock)
    facts = [("trigger", f"{run['trigger']}, version {run['version']} of the job"), ("due", due)]
    if run["scheduled_at"] != run["due_at"]:
        facts.insert(1, ("scheduled", viewer.both(run["scheduled_at"], clock)))
    for label in ("started", "finished"):
        if run[f"{label}_at"]:
            late = "   late" if label == "started" and run["late"] else ""
            facts.append((label, viewer.both(run[f"{label}_at"], clock) + late))
    if runs.run_time(run, viewer):
        facts.append(("took", runs.run_time(run, viewer)))
    if run["reason"] and runs.ended(run) == runs.outcome(run):
        facts.append(("reason", run["reason"]))
    if runs.first_line(run["error"]):
        facts.append(("error", runs.first_line(run["error"])))
    if run["retry_of"]:
        facts.append(("again for", f"run {run['retry_of']}"))
    if run["replays"]:
        facts.append(("replays", str(run["replays"])))
    if run["put_back"]:
        facts += put_back(run, viewer.both(run["put_back"]["at"]))
    if run["coalesced"]:
        facts.append(("stands for", f"{run['coalesced']} more occurrences"))
    facts.append(("key", run["key"] + (f"   fence {run['fence']}" if run["fence"] else "")))
    return facts


def of_work(work: Json | None) -> list[Fact]:
    """What it executed: its command and input; of an edited one all that can be edited. None: it is not kept."""
    if work is None:
        return []
    lines = [("command", runs.target(work))]
    if work["stdin"] is not None:
        lines.append(("input", _shown(work["stdin"])))
    elif work["payload_ref"]:
        lines.append(("input", f"the file {work['payload_ref']}"))
    if work["edited"]:
        lines.insert(0, ("edited", f"for this run alone; version {work['version']} of its job is another one"))
        lines += [("directory", work["cwd"])] if work["cwd"] else []
        lines += [("env", f"{name}={value}") for name, value in work["env"].items()]
    return lines


def put_back(run: Json, when: str) -> list[Fact]:
    """That a replay was broken off before its turn; `when` is in words."""
    back = run["put_back"]
    return [("put back", f"{when}: run {back['run']} died again, before its turn in the replay")] if back else []


def _shown(text: str) -> str:
    """In quotes, cut where it is long."""
    more = f" … {runs.size(len(text.encode()))} in all" if len(text) > _INPUT_CHARS_MAX else ""
    return json_string(text[:_INPUT_CHARS_MAX], ensure_ascii=False) + more
