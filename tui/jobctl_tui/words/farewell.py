"""What is left on the terminal by somebody who leaves the screens: that jobs go on without them, and what waits."""

from typing import Any

from jobctl_tui.words.daemon import no_return

Json = dict[str, Any]


def farewell(status: Json | None, *, reached: bool) -> list[str]:
    """A sentence, and one more where the daemon will not be there for ever; none of a daemon that never answered."""
    if status is None:
        return []
    if not reached:
        return ["jobd does not answer: jobs may not fire; see jobctl daemon status"]
    begins = "no job is started: jobd is paused, it" if status.get("paused") else "jobs go on: jobd"
    words = f"{begins} runs as pid {status['pid']}"
    waits = [f"{number} {word}" for word, number in _counted(status) if number]
    lines = [f"{words}; {', '.join(waits)}" if waits else words]
    return lines if status["returns_after_reboot"] else [*lines, f"jobd {no_return(status)}"]


def _counted(status: Json) -> list[tuple[str, int]]:
    jobs = status["jobs"]
    dead = int((status.get("dead") or {}).get("total") or 0)
    letters = "dead letter" if dead == 1 else "dead letters"
    return [("failed", int(jobs.get("failed") or 0)), ("late", int(jobs.get("late") or 0)), (letters, dead)]
