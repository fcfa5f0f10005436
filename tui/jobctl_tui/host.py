"""What the application is to its tabs and screens: they know this, not the application."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from jobctl.client.sync import Client
from jobctl.clock import Clock
from jobctl.errors import JobctlError
from jobctl_tui.actions import Action
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.errands import Errands
from jobctl_tui.live.feed import Feed
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.when import When

Json = dict[str, Any]


class Host(Protocol):
    """The application."""

    feed: Feed
    errands: Errands
    """For windows; what a person asked for goes through `errand` and `act`."""
    clock: Clock
    glyphs: Glyphs
    """Of UTF-8 or of ASCII."""
    when: When
    """Times as they are to be shown just now: zone, relative or absolute."""
    read_only: bool
    state_dir: str | None
    """For what is kept between two sittings; None: nowhere."""
    connect: Callable[[], Client]
    """A client of its own for who reads in a thread of its own."""

    def post(self, call: Callable[[], None]) -> None:
        """Onto the loop, from any thread."""

    def errand(
        self,
        words: str,
        work: Callable[[Client], Any],
        done: Callable[[Any], None] | None = None,
        failed: Callable[[JobctlError], None] | None = None,
        group: str | None = None,
    ) -> None:
        """Asks the daemon in a thread of its own; `done` and `failed` are called on the loop, a failure is shown where
        nobody takes it. Of one `group` only the newest answer counts."""

    def act(
        self,
        words: str,
        work: Callable[[Client], Any],
        undo: Callable[[Client], Any] | None = None,
        undo_words: str = "",
        done: Callable[[Any], None] | None = None,
        failed: Callable[[JobctlError], None] | None = None,
    ) -> None:
        """An errand that changes something: says so when it is done ("paused backup-db"), `u` takes it back for 30 s
        and says `undo_words` then ("pause of backup-db taken back: it runs again"); refused while the daemon is away
        and on a read-only screen. `failed` as of an errand."""

    def say_failed(self, words: str, error: JobctlError) -> None:
        """What was asked for could not be had, and why."""

    def say(self, words: str, trouble: bool = False) -> None:
        """On the status line, and kept for the tab of the daemon. The words may be anybody's: they are made safe."""

    def copy(self, text: str, what: str) -> None:
        """To the clipboard of the terminal, and to a file."""

    def open_run(self, run_id: int, find: str | None = None) -> None: ...

    def open_editor(self, job: Json | None = None) -> None:
        """Of a job, or of a new one."""

    def go_to_job(self, job_id: int) -> None:
        """The tab of jobs, with the cursor there."""


class Said(NamedTuple):
    """A sentence of the status line, made safe."""

    at_ms: int
    """Of the daemon's clock."""
    words: str
    trouble: bool


class Shell(Host, Protocol):
    """The application, for the lines around a screen and for what stands above the tabs."""

    hostname: str
    """Of this host: shown until a daemon has said its own."""

    def actions_here(self) -> tuple[Action, ...]:
        """Those that can be taken just now, the nearest first."""

    def take(self, action: Action, *arguments: str) -> bool:
        """Does it; whether anybody did."""

    def leave(self, code: int) -> None:
        """Ends the program, with this exit code."""

    def all_said(self) -> Sequence[Said]:
        """What has been said, oldest first, as far as it is kept."""

    def said_last(self) -> Said | None:
        """What was said a moment ago."""

    def frozen_words(self) -> str:
        """For how long the screen is held still, and how much it does not show; empty when it is not."""


class Pane(Protocol):
    """A tab, or a screen above the tabs. `act_…` methods do its actions (`jobctl_tui.actions`).

    One with `label(action: Action) -> str | None` says itself what a key of the bar does just now: `Resume` for what is
    paused, `Pause 2 marked`; None: as the action says; empty: it cannot be done. One with `acted()` is told when
    something that was asked for here has been done.
    """

    def changed(self, changes: Changes) -> None:
        """On the loop, at most every 100 ms, also while it is not shown."""

    def tick(self) -> None:
        """Every second while it is shown: what says how long something takes is written anew where it differs."""

    def subject(self) -> str:
        """What the command-line form of an action is filled with: the job or run under the cursor; may be empty."""
