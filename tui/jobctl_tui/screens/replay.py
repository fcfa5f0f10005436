"""Replaying dead letters: with what, at what pace, and what speaks against it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from shlex import join, split
from textwrap import wrap
from typing import Any, Final

from textual.widget import Widget

from jobctl.errors import InvalidInput
from jobctl.reading.runs import target
from jobctl.reading.safe import cell
from jobctl.schedule import parse_duration
from jobctl_tui.live.burial import AT_ONCE_MAX, Gathered
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.fields import Edited, Entered, FieldBox
from jobctl_tui.screens.lines import Line
from jobctl_tui.words import dead as words
from jobctl_tui.words.field import Field
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.when import When

Json = dict[str, Any]

RECORDED, CURRENT, EDITED = "recorded", "current", "edited"
_WAYS: Final = {RECORDED: "as recorded", CURRENT: "as it is now", EDITED: "another command"}
_SHOWN: Final = 6
#: Screens with fewer lines have no room for all that is known.
_LOW: Final = 20
#: Columns of a question, and of what stands around its words.
_WIDE: Final = 72
_AROUND: Final = 4


def field(ident: str, label: str, choices: Sequence[tuple[str, str]] = (), empty: str = "") -> Field:
    """Of a question: it is read from and written to nothing but the field itself."""
    kind = "choice" if choices else "line"
    return Field(ident, label, kind, lambda _: "", lambda _table, _text: None, tuple(choices), empty)  # type: ignore[arg-type]


class Replay(Ask):
    """Answers with the body of POST /v1/dead/replay, without ids."""

    DEFAULT_CSS = """
    Replay .-hidden { display: none; }
    """

    def __init__(self, found: Gathered, glyphs: Glyphs, when: When, now_ms: int) -> None:
        self._found = found
        self._glyphs = glyphs
        self._when = when
        self._now_ms = now_ms
        command = target(found.work) if found.work is not None else ""
        self._command = command
        # A job that was edited after its run had died was nearly always edited to mend it.
        how = CURRENT if found.changed else RECORDED
        self._said = {"how": how, "command": command, "pace": "", "stop": "no"}
        self._complaint = ""
        self._other = self._box(field("command", "Command"), "-hidden")
        super().__init__(f"Replay {words.count_words(len(found.runs))}", [], "Replay", "r", cli="jobctl dlq replay")

    # ── fields ─────────────────────────────────────────────
    @property
    def _several(self) -> bool:
        return len(self._found.runs) > 1

    def fields(self) -> Iterable[Widget]:
        how = [(way, said) for way, said in _WAYS.items() if way != EDITED or self._found.work is not None]
        yield self._box(field("how", "With", how))
        if self._found.work is not None:
            yield self._other
        if self._several and len(self._found.runs) <= AT_ONCE_MAX:
            yield self._box(field("pace", "Pace", empty="all at once; 5s: so long between two starts"))
            yield self._box(field("stop", "Stop", [("no", "never"), ("yes", "at the first that dies again")]))

    def on_mount(self) -> None:
        """Besides what `Ask` does (Textual calls both): a low screen has no room for gaps."""
        if self.app.size.height < _LOW:
            self._told_cli.styles.margin = 0

    def _box(self, field: Field, classes: str = "") -> FieldBox:
        box = FieldBox(field, self._said[field.id], self._glyphs)
        box.set_classes(classes)
        return box

    def on_edited(self, event: Edited) -> None:
        event.stop()
        self._said[event.ident] = event.text
        self._complaint = self._wrong()
        self._other.set_class(self._said["how"] != EDITED, "-hidden")
        self.renew()

    def on_entered(self, event: Entered) -> None:
        event.stop()

    def _wrong(self) -> str:
        """Why it cannot be replayed so; empty: it can."""
        try:
            if self._said["pace"].strip():
                parse_duration(self._said["pace"].strip())
            if self._said["how"] == EDITED:
                self._edit()
        except InvalidInput as error:
            return f"{error.message}; {error.hint}"
        return ""

    # ── what is answered ───────────────────────────────────
    def do(self) -> None:
        """Not with a field that cannot be read."""
        self._complaint = self._wrong()
        if self._complaint:
            self.renew()
        else:
            super().do()

    def answer(self) -> Json:
        how: Json = {}
        if self._said["how"] == CURRENT:
            how["current"] = True
        if self._said["how"] == EDITED:
            how |= self._edit()
        if self._said["pace"].strip():
            how["pace"] = self._said["pace"].strip()
        if self._said["stop"] == "yes":
            how["stop_on_failure"] = True
        if self._several and self._found.died_again >= 2:
            how["force"] = True  # whoever goes on has read the warning
        return how

    def _edit(self) -> Json:
        """What was changed of the command; a line for the shell stays one. Raises `InvalidInput`."""
        text = self._said["command"].strip()
        if not text:
            raise InvalidInput("there is no command", "write one, or choose another way")
        work = self._found.work or {}
        if text == self._command:
            return {"edit": {"target": work["target"]}} if work.get("edited") else {}
        if (work.get("target") or {}).get("shell") is not None:
            return {"edit": {"target": {"shell": text}}}
        try:
            return {"edit": {"target": {"command": split(text)}}}
        except ValueError as error:
            raise InvalidInput("a quotation mark is not closed", "close it") from error

    # ── what it says ───────────────────────────────────────
    def facts(self) -> Sequence[Line]:
        found = self._found
        low = self.app.size.height < _LOW
        lines = which(found, self._when, self._now_ms)
        if low:  # the fields come first
            lines = [lines[0], lines[-1]]
        if found.changed:
            lines += self._wrapped("", f"{_jobs_changed(found)} since: {_taken(found, self._said['how'])}", low=low)
        expected = words.expect(found.usual_s, len(found.runs), one_by_one=self._said["stop"] == "yes")
        if expected and not low:
            lines.append([("expect  ", "-dim"), (expected, "")])
        warning = words.warning(found.died_again, len(found.runs))
        if warning:
            lines += self._wrapped("warning ", warning, low=low)
        if self._complaint:
            lines.append([(cell(self._complaint), "-failed")])
        return lines

    def _wrapped(self, label: str, text: str, *, low: bool) -> list[Line]:
        """On as many lines as it takes, where there is room."""
        room = min(self.app.size.width, _WIDE) - _AROUND - len(label)
        pieces = [text] if low else wrap(text, room)
        return [[(label if not at else " " * len(label), "-failed"), (each, "-late")] for at, each in enumerate(pieces)]

    def _how(self) -> Line:
        """With the way that is chosen: it is what the letter does."""
        way = "with another command" if self._said["how"] == EDITED else _WAYS[self._said["how"]]
        return [(f"Replay {way}: press ", ""), (self._letter, "-key")]

    def cli_form(self) -> str:
        ids = [str(ident) for ident in self._found.ids[:_SHOWN]]
        more = " …" if len(self._found.ids) > _SHOWN else ""
        options = ["--current"] if self._said["how"] == CURRENT else []
        options += ["--edit"] if self._said["how"] == EDITED else []
        options += ["--pace", self._said["pace"].strip()] if self._said["pace"].strip() else []
        options += ["--stop-on-failure"] if self._said["stop"] == "yes" else []
        options += ["--force"] if self._several and self._found.died_again >= 2 else []
        return cell(join(["jobctl", "dlq", "replay", *ids])) + more + (f" {cell(join(options))}" if options else "")


def which(found: Gathered, when: When, now_ms: int) -> list[Line]:
    """Which jobs and runs, and since when."""
    counted = Counter(str(run["job"]) for run in found.runs)
    lines: list[Line] = []
    for job, count in counted.most_common(3):
        runs = (
            ", ".join(str(run["id"]) for run in found.runs if run["job"] == job) if count <= _SHOWN else f"{count} runs"
        )
        lines.append([(cell(job), "-bold"), (f"   run {runs}" if count <= _SHOWN else f"   {runs}", "")])
    if len(counted) > 3:
        lines.append([(f"and of {len(counted) - 3} more jobs", "-dim")])
    oldest = words.oldest(found.runs)
    lines.append([("oldest  ", "-dim"), (when.viewer(now_ms).both(str(oldest["finished_at"])), "")])
    lines.append([("failed  ", "-dim"), (words.said(found.runs[0]), "-failed")])
    return lines


def _jobs_changed(found: Gathered) -> str:
    if len(found.runs) == 1:
        return "the job has changed"
    return f"the jobs of {found.changed} of them have changed"


def _taken(found: Gathered, how: str) -> str:
    """What is run of the two that there are."""
    if how == EDITED:
        return "what was recorded is run with another command"
    if len(found.runs) == 1:
        recorded, job = found.runs[0]["version"], found.jobs[int(found.runs[0]["job_id"])] or {}
        taken, left = (job["version"], recorded) if how == CURRENT else (recorded, job["version"])
        return f"version {taken} is run, not {left}"
    return "what they are now is run" if how == CURRENT else "as recorded is not what they are now"
