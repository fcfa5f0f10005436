"""What is done to runs, in their list and on the screen of one: always asked first, none of it can be taken back."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from textual.screen import ModalScreen

from jobctl.client.sync import Client
from jobctl.reading.runs import waits_for_retry
from jobctl.reading.safe import cell
from jobctl.reading.times import span
from jobctl_tui.actions import Action
from jobctl_tui.host import Host
from jobctl_tui.live.aim import Aim, Done, called, each, not_done
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.lines import Line
from jobctl_tui.words import run as words

Json = dict[str, Any]

RETRY: Final = "Retry"
REPLAY: Final = "Replay"
DONE: Final = {RETRY: "retried", REPLAY: "replayed"}
#: What is lost by it.
KILL_EFFECT: Final = "Every process of it gets SIGKILL at once, without its grace. There is no retry."
#: So many are named in a question; of more there is a number.
_NAMED_MAX: Final = 5


class Pane(Protocol):
    """Says what is aimed at, and what is known of it."""

    @property
    def host(self) -> Host: ...
    def aims(self) -> list[Aim]: ...
    def run_of(self, aim: Aim) -> Json | None: ...
    def put(self, dialog: ModalScreen[Any], answered: Callable[[Any], None]) -> None: ...
    def acted(self) -> None: ...
    def again(self, run_id: int) -> None: ...


class RunActs:
    """Of one pane."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane

    # ── what can be done ─────────────────────────────────────────
    def kill(self, *ids: str) -> None:
        self._stop(ids, "Kill", "k", "kill", "killed", KILL_EFFECT, lambda client, aim: client.kill_run(aim.id))

    def cancel(self, *ids: str) -> None:
        effect = "Its processes get SIGTERM, and after their grace SIGKILL. There is no retry."
        self._stop(ids, "Stop", "s", "cancel", "stopped", effect, lambda client, aim: client.cancel_run(aim.id))

    def retry(self, *ids: str) -> None:
        aims = self._aims(ids)
        if not aims:
            return
        known = [self._pane.run_of(aim) for aim in aims]
        facts: list[Line] = [[], *([(how, "")] for how in sorted(map(_how, known)))]
        verb = verb_of(known)
        cli = "dlq replay" if verb == REPLAY else "retry"
        self._ask(verb, "r", aims, facts, cli, lambda these: self._retried(these, verb))

    def _aims(self, ids: Sequence[str]) -> list[Aim]:
        """The runs that were named, as a command has them; else what the pane says."""
        if not ids:
            return self._pane.aims()
        numbers = [int(text) for text in ids if text.isascii() and text.isdigit()]
        if len(numbers) < len(ids):
            self._pane.host.say("runs are named by their numbers here", trouble=True)
            return []
        return [aim_of(run) if (run := self._pane.run_of(Aim(n, ""))) else Aim(n, f"run {n}") for n in numbers]

    def _stop(
        self,
        ids: Sequence[str],
        verb: str,
        letter: str,
        cli: str,
        done: str,
        effect: str,
        act: Callable[[Client, Aim], Any],
    ) -> None:
        aims = self._aims(ids)
        ended = [aim for aim in aims if (run := self._pane.run_of(aim)) is not None and not words.is_active(run)]
        aims = [aim for aim in aims if aim not in ended]
        if not aims:
            if ended:
                self._pane.host.say(f"{called(ended, 'run')} has ended: there is nothing to stop")
            return
        waiting = sum(run["state"] != "running" for aim in aims if (run := self._pane.run_of(aim)) is not None)
        facts: list[Line] = [[]]
        if waiting < len(aims):
            facts.append([(effect, "")])
        if waiting:
            which = "It is not running" if len(aims) == 1 else f"{waiting} of {len(aims)} are not running"
            facts.append([(f"{which}: cancelled, and not started any more.", "")])
        if ended:
            facts.append([(f"{len(ended)} that ended already: left out.", "-dim")])

        def go() -> None:
            self._each(f"{done} {called(aims, 'run')}", aims, act)

        self._ask(verb, letter, aims, facts, cli, lambda _: go())

    def _ask(
        self, verb: str, letter: str, aims: list[Aim], facts: Sequence[Line], cli: str, go: Callable[[list[Aim]], None]
    ) -> None:
        ids = " ".join(str(aim.id) for aim in aims)
        dialog = AskOfRuns(verb, letter, aims, lambda: self._named(aims), facts, f"jobctl {cli} {ids}")
        self._pane.put(dialog, lambda answer: go(aims) if answer else None)

    def _retried(self, aims: list[Aim], verb: str) -> None:
        def done(outcome: Done) -> None:
            said = [_answered(aim, answer) for aim, answer in outcome.done]
            self._pane.host.say("; ".join(said) if len(said) <= _NAMED_MAX else f"{len(said)} runs are retried")
            if len(outcome.done) == 1 and outcome.done[0][1]["how"] == "again":
                self._pane.again(int(outcome.done[0][1]["run"]["id"]))

        said = f"{DONE[verb]} {called(aims, 'run')}"
        self._each(said, aims, lambda client, aim: client.retry_run(aim.id), done)

    def _each(
        self,
        said: str,
        aims: list[Aim],
        act: Callable[[Client, Aim], Any],
        done: Callable[[Done], None] | None = None,
    ) -> None:
        def finished(outcome: Done) -> None:
            if done is not None:
                done(outcome)
            if trouble := not_done(outcome):
                self._pane.host.say(trouble, trouble=True)
            self._pane.acted()

        self._pane.host.act(said, lambda client: each(client, aims, act), done=finished)

    def _named(self, aims: Sequence[Aim]) -> list[Line]:
        """What each is at, so that nobody stops what he did not mean."""
        lines = [self._described(aim) for aim in aims[:_NAMED_MAX]]
        if len(aims) > _NAMED_MAX:
            lines.append([(f"and {len(aims) - _NAMED_MAX} more", "-dim")])
        return lines

    def _described(self, aim: Aim) -> Line:
        host, run = self._pane.host, self._pane.run_of(aim)
        if run is None:
            return [(f"run {aim.id}", "-bold")]
        seen = words.look(run, host.feed.now_ms())
        ran_s = words.elapsed_s(run, host.feed.now_ms())
        how_long = f" {span(ran_s)}" if ran_s is not None and words.is_active(run) else ""
        return [(f"run {aim.id} of {cell(run['job'])}  ", "-bold"), (f"{seen.word}{how_long}", seen.style)]


class AskOfRuns(Ask):
    """Kill, stop, retry or replay: what each of them is at is said as it is now, as long as it is asked."""

    def __init__(
        self,
        verb: str,
        letter: str,
        aims: Sequence[Aim],
        now: Callable[[], Sequence[Line]],
        rest: Sequence[Line],
        cli: str,
    ) -> None:
        super().__init__(f"{verb} {called(aims, 'run')}?", (), verb, letter, cli)
        self._now = now
        self._below = rest

    def facts(self) -> Sequence[Line]:
        return [*self._now(), *self._below]

    def on_mount(self) -> None:
        """Besides what `Ask` does (Textual calls both)."""
        self.set_interval(1, self.renew)


def aim_of(run: Json) -> Aim:
    return Aim(int(run["id"]), f"run {run['id']} of {run['job']}")


def verb_of(runs: Sequence[Json | None]) -> str:
    """Dead letters are replayed, other runs are retried."""
    return REPLAY if all(run is not None and run["state"] == "dead" for run in runs) else RETRY


def label_of(action: Action, run: Json | None, *, marked: int = 0) -> str | None:
    """What a key of the bar does to this run: killing is of what has not ended, a retry of what has or waits for it."""
    verb = action.id.rpartition(".")[2]
    if run is None or marked:
        return None
    active = words.is_active(run)
    if verb in ("kill", "cancel"):
        return None if active else ""
    if verb == "retry":
        waits = active and waits_for_retry(run)
        return verb_like(action, verb_of([run])) if waits or not active else ""
    return None


def verb_like(action: Action, verb: str) -> str:
    """With the dots of the action, if it has some."""
    return verb + action.label[len(action.label.rstrip(".…")) :]


def _how(run: Json | None) -> str:
    """What a retry of it comes to."""
    state = "" if run is None else str(run["state"])
    if state in words.ACTIVE:
        return "A retry that waits starts now; what runs is refused."
    if state == "dead":
        return "The dead letter is replayed: the same run, the same key."
    return "A new run of the same command: it may do again what was done."


def _answered(aim: Aim, answer: Json) -> str:
    run = answer["run"]
    if answer["how"] == "again":
        return f"run {aim.id} is run again as run {run['id']}"
    return f"run {aim.id} is replayed" if answer["how"] == "replayed" else f"run {aim.id} is retried now"
