"""Deleting jobs: what it comes to in numbers; the name has to be typed. Jobs of files are changed in their files."""

from collections.abc import Iterable, Sequence
from shlex import join
from typing import Any, Final, NamedTuple

from textual.widget import Widget
from textual.widgets import Checkbox

from jobctl.client.sync import Client
from jobctl.errors import Conflict
from jobctl.reading.safe import cell
from jobctl_tui.live.aim import Aim, called
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.lines import Line
from jobctl_tui.words.when import When

Json = dict[str, Any]

_SHOWN: Final = 4


class Doomed(NamedTuple):
    """What would be deleted, as the daemon has it just now, and what is left because a file declares it."""

    jobs: tuple[Json, ...]
    waiting: int
    """Runs that have not started."""
    declared: tuple[Json, ...]

    @property
    def aims(self) -> list[Aim]:
        return [Aim(int(job["id"]), str(job["name"])) for job in self.jobs]

    @property
    def running(self) -> int:
        return sum(int(job["running"]) for job in self.jobs)

    @property
    def dead(self) -> int:
        return sum(int(job["dead"]) for job in self.jobs)


def doomed(client: Client, aims: Sequence[Aim]) -> Doomed:
    """In a thread. `Conflict` when files declare all of them: says where they are changed."""
    jobs = [client.job(aim.id) for aim in aims]
    own = tuple(job for job in jobs if not job["declared"])
    declared = tuple(job for job in jobs if job["declared"])
    if not own:
        first = declared[0]
        raise Conflict(
            f"{first['name']} is declared in {first['declared']}: it is not deleted here",
            "take it out of that file; p pauses it meanwhile",
        )
    waiting = sum(1 for job in own for _ in client.job_runs(job["id"], state="scheduled,ready"))
    return Doomed(own, waiting, declared)


class DeleteJobs(Ask):
    """Answers with whether what is running is cancelled too."""

    def __init__(self, found: Doomed, when: When, now_ms: int) -> None:
        self._found = found
        self._cancels = Checkbox("cancel what is running", compact=True, id="cancel-runs")
        aims = found.aims
        typed = aims[0].name if len(aims) == 1 else f"{len(aims)} jobs"
        title = f"Delete {called(aims)}"
        super().__init__(title, facts(found, when, now_ms), "Delete", "", cli="jobctl rm", typed=typed)

    def fields(self) -> Iterable[Widget]:
        if self._found.running:
            yield self._cancels

    def answer(self) -> bool:
        return bool(self._found.running) and self._cancels.value

    def cli_form(self) -> str:
        names = [aim.name for aim in self._found.aims]
        runs = ["--runs", "cancel"] if self.answer() else []
        return cell(join(["jobctl", "rm", *names[:_SHOWN], *runs])) + (" …" if len(names) > _SHOWN else "")

    def on_checkbox_changed(self, event: Checkbox.Changed) -> None:
        event.stop()
        self.renew()


def facts(found: Doomed, when: When, now_ms: int) -> list[Line]:
    """In numbers."""
    first = found.jobs[0]
    lines: list[Line] = []
    if len(found.jobs) == 1:
        plan = (first.get("schedule") or {}).get("words") or "by hand"
        fires = f"   next {when.text(first['next_run_at'], now_ms)}" if first.get("next_run_at") else ""
        lines.append([(cell(first["name"]), "-bold"), (f"   {cell(plan)}{fires}", "")])
    else:
        lines += [[(cell(job["name"]), "")] for job in found.jobs[:_SHOWN]]
        lines += [[(f"and {len(found.jobs) - _SHOWN} more", "-dim")]] if len(found.jobs) > _SHOWN else []
    lines.append(_fact("running", f"{found.running}, which finish" if found.running else "none"))
    lines.append(_fact("waiting", f"{found.waiting}, which are cancelled" if found.waiting else "none"))
    lines.append(_fact("dead letters", f"{found.dead}, which stay" if found.dead else "none"))
    lines.append(_fact("history", "stays: jobctl runs NAME"))
    if found.declared:
        names = ", ".join(cell(job["name"]) for job in found.declared[:_SHOWN])
        lines.append(_fact("left", f"{len(found.declared)} that files declare: {names}"))
    return lines


def _fact(label: str, text: str) -> Line:
    return [(label.ljust(14), "-dim"), (text, "")]
