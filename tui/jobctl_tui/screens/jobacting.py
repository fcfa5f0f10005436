"""What can be done to jobs where a list has some: at once what can be taken back, asked first what cannot.

What is meant is fixed when the key is pressed. A command may say which jobs instead, by a name or as a filter:
`:pause tag:pg`; of several it is asked first, with their number.
"""

from collections.abc import Callable, Iterable, Sequence
from shlex import join
from typing import Any, Final, NamedTuple

from jobctl.client.sync import Client
from jobctl.errors import JobctlError, NotFound
from jobctl.reading.runs import first_line, outcome, waits_for_retry
from jobctl.reading.safe import cell
from jobctl.reading.times import milliseconds, span
from jobctl_tui.actions import Action
from jobctl_tui.live import jobacts
from jobctl_tui.live.aim import Aim, Done, Going, called, each, not_done
from jobctl_tui.live.jobacts import Change
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.delete import DeleteJobs, Doomed, doomed
from jobctl_tui.screens.lines import Line
from jobctl_tui.screens.listing import Listing
from jobctl_tui.screens.pause import PauseUntil
from jobctl_tui.screens.runacting import DONE, KILL_EFFECT, REPLAY, AskOfRuns, aim_of, verb_like, verb_of
from jobctl_tui.words import details
from jobctl_tui.words import job as words

Json = dict[str, Any]
Making = Callable[[Sequence[Aim]], Change]

#: Of a job's history, to find what failed last.
_LOOKED_BACK: Final = 100
#: What takes longer says so often how far it is.
PROGRESS_S: Final = 0.5
#: Names in a question; the rest is counted.
_NAMED: Final = 6
#: So many jobs may be meant by one command.
_MEANT_MAX: Final = 10_000
_PAGE: Final = 500


class Active(NamedTuple):
    """A run that can be ended."""

    id: int
    job: str
    running: bool
    since: str | None


class JobActing(Listing):
    """Rows are jobs (JobLine)."""

    _going: Going | None = None
    """What is being done to many just now."""

    def row_label(self, action: Action) -> str | None:
        """What the key does to the row under the cursor, or to how many that are marked."""
        marks, job = len(self.table.marks), self.current()
        if action.id == "job.pause":
            verb = "Resume" if self._are_paused(self.aims()) else action.label
            return f"{verb} {marks} marked" if marks else verb
        if job is None or marks:
            return None
        run = job.get("last")
        if action.id == "job.rerun" and job.get("state") != "retrying":
            return verb_like(action, verb_of([run])) if words.has_failed(job) else ""
        return "" if action.id == "job.kill" and not job.get("active") else None

    # ── which jobs ─────────────────────────────────────────
    def _meant(self, said: Sequence[str], verb: str, then: Callable[[Sequence[Aim]], None]) -> None:
        """The marked ones, the one under the cursor, or those that a command names."""
        if said:
            text = " ".join(said)
            self.host.errand(
                f"{verb} {text}",
                lambda client: named(client, text),
                lambda aims: self._sure(aims, text, verb, then),
            )
            return
        aims = self.aims()
        if aims:
            then(aims)
        else:
            self.host.say("there is no job under the cursor")

    def _sure(self, aims: Sequence[Aim], text: str, verb: str, then: Callable[[Sequence[Aim]], None]) -> None:
        if len(aims) == 1:
            then(aims)
            return
        title = f"{verb.capitalize()} {len(aims)} jobs"
        facts: list[Line] = [[("they match  ", "-dim"), (cell(text), "-key")], *listed(aims)]
        self.put(Ask(title, facts, verb.capitalize(), "y"), lambda _: then(aims))

    def _do(self, said: str, change: Change, back: str) -> None:
        """At once; `u` takes it back, and says `back` then. What it was done to is not marked any more."""

        def done(outcome: Done) -> None:
            ended()
            self.table.clear_marks(outcome.ids)
            failed = not_done(outcome)
            if change.going.stopped:
                self.host.say(f"stopped: {said}, {change.going.count:,} of them; u takes it back", trouble=True)
            elif failed:
                self.host.say(f"{said}; {failed}", trouble=True)

        def refused(error: JobctlError) -> None:
            ended()
            self.host.say(f"{said}: {error.message}" + (f"; {error.hint}" if error.hint else ""), trouble=True)

        ended = self._told_of(said, change.going)
        self.host.act(said, change.work, change.undo, back, done, refused)

    def _told_of(self, said: str, going: Going) -> Callable[[], None]:
        """Says how far it is while it goes on; what is returned ends that. Escape stops what goes on."""

        def tell() -> None:
            self.host.say(f"{said}: {going.count:,} so far; esc stops")

        def ended() -> None:
            timer.stop()
            self._going = None

        self._going = going
        timer = self.set_interval(PROGRESS_S, tell)
        return ended

    def act_back(self) -> bool:
        """What goes on is stopped first."""
        if self._going is None:
            return super().act_back()
        self._going.stopped = True
        return True

    # ── at once ────────────────────────────────────────────
    def act_job_pause(self, *said: str) -> None:
        """A command pauses; the key resumes what is paused."""
        self._meant(said, "pause", self._pause if said else self._turn)

    def act_job_resume(self, *said: str) -> None:
        self._meant(said, "resume", self._resume)

    def _turn(self, aims: Sequence[Aim]) -> None:
        if self._are_paused(aims):
            self._resume(aims)
        else:
            self._pause(aims)

    def _are_paused(self, aims: Sequence[Aim]) -> bool:
        """All of those that are here; false when none is."""
        rows = [row for aim in aims if (row := self.window.find(aim.id)) is not None]
        return bool(rows) and all(map(words.is_paused, rows))

    def _pause(self, aims: Sequence[Aim]) -> None:
        self._do(f"paused {called(aims)}", jobacts.pause(aims), unpaused(aims))

    def _resume(self, aims: Sequence[Aim]) -> None:
        back = f"resume of {called(aims)} taken back: {_they(aims, 'is', 'are')} paused again"
        self._do(f"resumed {called(aims)}", jobacts.resume(aims), back)

    def act_job_skip(self, *said: str) -> None:
        self._meant(said, "skip the next time of", lambda aims: self._do(
            f"left the next time of {called(aims)} out", jobacts.skip(aims),
            f"skip of {called(aims)} taken back: nothing is left out"))  # fmt: skip

    def act_job_unskip(self, *said: str) -> None:
        self._meant(said, "leave nothing out of", lambda aims: self._do(
            f"nothing is left out of {called(aims)}", jobacts.unskip(aims),
            f"taken back: the next time of {called(aims)} is left out again"))  # fmt: skip

    def act_job_run(self, *said: str) -> None:
        self._meant(said, "run", self._run)

    def _run(self, aims: Sequence[Aim]) -> None:
        def do(_: Any = None) -> None:
            runs = "its run is" if len(aims) == 1 else "their runs are"
            back = f"start of {called(aims)} taken back: {runs} cancelled"
            self._do(f"started {called(aims)}", jobacts.run(aims), back)

        if len(aims) == 1:
            do()
        else:
            self.put(Ask(f"Run {len(aims)} jobs now", listed(aims), "Run", "y", cli_of("run", aims)), do)

    # ── asked first ────────────────────────────────────────
    def act_job_pause_until(self, *said: str) -> None:
        def ask(aims: Sequence[Aim]) -> None:
            def answered(answer: tuple[str | None, str | None]) -> None:
                until, why = answer
                words = f"paused {called(aims)}" + (f" until {until}" if until else "")
                self._do(words, jobacts.pause(aims, until, why), unpaused(aims))

            self.put(PauseUntil(aims), answered)

        self._meant(said, "pause", ask)

    def act_job_kill(self, *said: str) -> None:
        def look(aims: Sequence[Aim]) -> None:
            self.host.errand(f"kill runs of {called(aims)}", lambda client: active(client, aims), self._ask_kill)

        self._meant(said, "kill runs of", look)

    def _ask_kill(self, found: Sequence[Active]) -> None:
        if not found:
            self.host.say("nothing of it is running or waits")
            return
        runs = [Aim(run.id, f"run {run.id} of {run.job}") for run in found]

        def now() -> list[Line]:
            at_ms = self.host.feed.now_ms()
            lines: list[Line] = [
                [(cell(f"run {run.id} of {run.job}"), "-bold"), (_how_long(run, at_ms), "")] for run in found[:_NAMED]
            ]
            return [*lines, *_rest(found)]

        dialog = AskOfRuns("Kill", "k", runs, now, [[], [(KILL_EFFECT, "")]], _cli_of_runs("kill", runs))
        self.put(dialog, lambda _: self._end(f"killed {called(runs, 'run')}", jobacts.kill(runs)))

    def _end(self, said: str, work: Callable[[Client], Done]) -> None:
        """What cannot be taken back."""

        def done(outcome: Done) -> None:
            self.table.clear_marks(outcome.ids)
            failed = not_done(outcome)
            if failed:
                self.host.say(failed, trouble=True)

        self.host.act(said, work, done=done)

    def act_job_rerun(self, *said: str) -> None:
        def look(aims: Sequence[Aim]) -> None:
            words = f"retry {called(aims)}"
            self.host.errand(words, lambda client: each(client, aims, newest_failure), self._ask_rerun)

        self._meant(said, "retry", look)

    def _ask_rerun(self, found: Done) -> None:
        runs: list[Json] = [run for _, run in found.done]
        facts: list[Line] = [
            [(cell(f"run {run['id']} of {run['job']}"), "-bold"), (f"  {cell(outcome(run))}", "-failed")]
            for run in runs[:_NAMED]
        ]
        verb = verb_of(runs)
        below: list[Line] = [*_rest(runs), [], [(_how_again(runs[0]), "")]]
        below += [[(cell(not_done(found)), "-late")]] if found.failed else []
        aims = [aim_of(run) for run in runs]
        cli = _cli_of_runs("dlq replay" if verb == REPLAY else "retry", aims)
        dialog = AskOfRuns(verb, "r", aims, lambda: facts, below, cli)
        self.put(dialog, lambda _: self._end(f"{DONE[verb]} {called(aims, 'run')}", jobacts.again(aims)))

    def act_job_delete(self, *said: str) -> None:
        def look(aims: Sequence[Aim]) -> None:
            self.host.errand(f"delete {called(aims)}", lambda client: doomed(client, aims), self._ask_delete)

        self._meant(said, "delete", look)

    def _ask_delete(self, found: Doomed) -> None:
        def delete(cancel_runs: bool) -> None:
            self._end(f"deleted {called(found.aims)}", jobacts.delete(found.aims, cancel_runs=cancel_runs))

        self.put(DeleteJobs(found, self.host.when, self.host.feed.now_ms()), delete)

    # ── to see ─────────────────────────────────────────────
    def act_open(self) -> None:
        self._open(find=False)

    def act_job_log(self, *said: str) -> None:
        """Of its newest run; of one that failed at the line that says so."""
        if said:
            text = " ".join(said)
            self.host.errand(f"log of {text}", lambda client: newest_of(client, text), self.host.open_run)
        else:
            self._open(find=True)

    def _open(self, *, find: bool) -> None:
        job = self.current()
        run = details.newest_run(job) if job is not None else None
        if job is None or run is None:
            self.host.say(
                "it has not run yet; r runs it now" if job is not None else "there is no job under the cursor"
            )
            return
        line = first_line(job.get("error"))
        failed = words.look(job).style == "-failed"
        self.host.open_run(run, cell(line) if find and failed and line else None)

    def act_job_edit(self, *said: str) -> None:
        if said:
            text = " ".join(said)
            self.host.errand(f"edit {text}", lambda client: client.job(text), self.host.open_editor)
            return
        job = self.current()
        if job is None:
            self.host.say("there is no job under the cursor")
        else:
            ident = int(job["id"])
            self.host.errand("edit", lambda client: client.job(ident), self.host.open_editor, group="edit")

    def act_job_new(self) -> None:
        self.host.open_editor(None)


# ── what is asked of the daemon, in threads ────────────────


def named(client: Client, text: str) -> list[Aim]:
    """The job of that name; else those that a filter shows. `NotFound` of none."""
    try:
        job = client.job(text)
    except NotFound:
        found = everything(client, {"q": text}, _MEANT_MAX)
        if not found:
            raise NotFound(
                f"no job is called or matches {text}", "see jobctl help query for what a filter may say"
            ) from None
        return found
    return [Aim(int(job["id"]), str(job["name"]))]


def everything(client: Client, query: Json, most: int) -> list[Aim]:
    """All jobs that a question is answered with, in their order; at most so many."""
    found: dict[int, str] = {}
    offset = 0
    while True:
        page = client.jobs_window(offset, _PAGE, **query)
        found.update({int(job["id"]): str(job["name"]) for job in page["items"]})
        offset += len(page["items"])
        if not page["items"] or offset >= min(page["total"], most):
            return [Aim(*item) for item in found.items()]


def active(client: Client, aims: Iterable[Aim]) -> list[Active]:
    """Runs that are running; of jobs without one those that wait."""
    found: list[Active] = []
    for aim in aims:
        runs = list(client.job_runs(aim.id, state="running")) or list(client.job_runs(aim.id, state="scheduled,ready"))
        found += [
            Active(int(run["id"]), str(run["job"]), run["state"] == "running", run["started_at"] or run["due_at"])
            for run in runs
        ]
    return found


def newest_failure(client: Client, aim: Aim) -> Json:
    """The newest run of a job that failed, or waits for its retry."""
    for run in client.job_runs(aim.id, limit=_LOOKED_BACK):
        if run["state"] in ("failed", "dead") or waits_for_retry(run):
            return run
    raise NotFound("nothing of it has failed", f"run it now: jobctl run {aim.name}")


def newest_of(client: Client, text: str) -> int:
    """The newest run of the first job that a command means."""
    aim = named(client, text)[0]
    run = next(iter(client.job_runs(aim.id, limit=1)), None)
    if run is None:
        raise NotFound(f"{aim.name} has not run yet", f"run it now: jobctl run {aim.name}")
    return int(run["id"])


# ── words ──────────────────────────────────────────────────


def unpaused(aims: Sequence[Aim]) -> str:
    """A pause was taken back."""
    return f"pause of {called(aims)} taken back: {_they(aims, 'runs', 'run')} again"


def _they(aims: Sequence[Aim], one: str, several: str) -> str:
    return f"it {one}" if len(aims) == 1 else f"they {several}"


def listed(aims: Sequence[Aim]) -> list[Line]:
    """The first few by their names, the rest counted."""
    lines: list[Line] = [[(cell(aim.name), "")] for aim in aims[:_NAMED]]
    return [*lines, *_rest(aims)]


def cli_of(verb: str, aims: Sequence[Aim]) -> str:
    """Of a few jobs; of more the line would not be read."""
    return cell(join(["jobctl", verb, *(aim.name for aim in aims)])) if len(aims) <= _NAMED else ""


def _rest(things: Sequence[object]) -> list[Line]:
    return [[(f"and {len(things) - _NAMED} more", "-dim")]] if len(things) > _NAMED else []


def _cli_of_runs(verb: str, runs: Sequence[Aim]) -> str:
    return f"jobctl {verb} {' '.join(str(run.id) for run in runs)}" if len(runs) <= _NAMED else ""


def _how_long(run: Active, now_ms: int) -> str:
    if not run.running:
        return "  waits: it is cancelled"
    return f"  running {span(max(0, now_ms - milliseconds(str(run.since))) / 1000)}"


def _how_again(run: Json) -> str:
    if run["state"] == "dead":
        return "It runs under its own key, as it was recorded; tab 4 has other ways."
    if run["state"] == "failed":
        return "A new run, with what the job is now."
    return "Its retry is due now."
