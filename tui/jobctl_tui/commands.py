"""Every action by its name, with what it is to be done to: the palette; and by its keys: the help."""

from jobctl_tui.actions import Action, Scope
from jobctl_tui.doers import Doer, Doers, method_of, takes_words
from jobctl_tui.host import Host
from jobctl_tui.keys import Keymap
from jobctl_tui.screens.help import HelpScreen
from jobctl_tui.screens.palette import Palette
from jobctl_tui.stack import Stack
from jobctl_tui.words.palette import Entry, Offer


class Commands:
    """What can be done here, and what can be done to jobs from anywhere once they are named."""

    def __init__(self, host: Host, stack: Stack, doers: Doers, keymap: Keymap) -> None:
        self._host = host
        self._stack = stack
        self._doers = doers
        self._keymap = keymap

    def act_help(self) -> None:
        title = self._stack.tab.title() or self._stack.top.title or "this screen"
        self._stack.put(HelpScreen(title, self._doers.here()))

    def act_palette(self, *typed: str) -> None:
        aims = getattr(self._stack.pane, "aims", None)
        subjects = [aim.name for aim in aims()] if aims is not None else [self._stack.subject()]
        palette = Palette(self._offers(), [name for name in subjects if name], " ".join(typed))
        self._stack.put(palette, self._chosen)

    def act_go_job(self, *said: str) -> None:
        """By its name."""
        name = " ".join(said)
        if not name:
            self.act_palette()
            return
        self._host.errand(f"go to {name}", lambda client: int(client.job(name)["id"]), self._host.go_to_job)

    def _offers(self) -> list[Offer]:
        here = {action.id: action for action in self._doers.here()}
        offers = [Offer(action, True, takes_words(self._doers.of(action))) for action in here.values()]
        return offers + [
            Offer(action, False, True)
            for action in self._keymap.of((Scope.JOBS,))
            if action.id not in here and takes_words(self._on_jobs(action))
        ]

    def _on_jobs(self, action: Action) -> Doer | None:
        found: Doer | None = getattr(self._stack.main.jobs, method_of(action), None)
        return found

    def _chosen(self, entry: Entry | None) -> None:
        if entry is None:
            return
        if entry.job_id is not None:
            self._host.go_to_job(entry.job_id)
        elif entry.action is not None and not self._doers.take(entry.action, *entry.said):
            do = self._on_jobs(entry.action)
            if do is not None:
                do(*entry.said)
