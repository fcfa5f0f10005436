"""Beside the list on wide screens: all about the job under the cursor. What its row does not have is read once the
cursor rests on it."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from jobctl.client.sync import Client
from jobctl.errors import JobctlError
from jobctl_tui.screens.lines import Lines
from jobctl_tui.words import details
from jobctl_tui.words.details import Details
from jobctl_tui.words.glyphs import Glyphs

Json = dict[str, Any]

FIRES: Final = 3
DURATIONS: Final = 30
_KEPT: Final = 64
#: The line down its left side, and a space.
_EDGE: Final = 2


class Drawer(Lines):
    """A line down its left side, and what it was told."""

    DEFAULT_CSS: ClassVar[str] = """
    Drawer { width: 40; height: 1fr; display: none; }
    Drawer.-open { display: block; }
    Drawer.-huge { width: 58; }
    """

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    @property
    def columns(self) -> int:
        """For what it is told."""
        return max(8, self.size.width - _EDGE)

    def tell(self, lines: list[details.Line]) -> None:
        edge = (f"{self._glyphs.bar} ", "-rule")
        rows = max(self.size.height, 1)
        self.show([[edge, *line] for line in [*lines, *([[]] * max(0, rows - len(lines)))][:rows]])


class Known:
    """Details of the jobs that the cursor was on lately, by id; those of a changed job are read again."""

    def __init__(self, errand: Callable[..., None], came: Callable[[int], None]) -> None:
        self._errand = errand
        self._came = came
        self._details: dict[int, Details] = {}
        self._stale: set[int] = set()

    def of(self, job_id: int) -> Details | None:
        return self._details.get(job_id)

    def wants(self, job_id: int) -> bool:
        return job_id not in self._details or job_id in self._stale

    def touch(self, ids: frozenset[int], *, all_of_them: bool = False) -> None:
        self._stale |= set(self._details) if all_of_them else ids & self._details.keys()

    def read(self, job: Json) -> None:
        """Of this job; only the newest question is answered."""
        self._stale.discard(int(job["id"]))

        def came(found: Details) -> None:
            self._details.pop(int(job["id"]), None)
            self._details[int(job["id"])] = found
            while len(self._details) > _KEPT:
                self._details.pop(next(iter(self._details)))
            self._came(int(job["id"]))

        self._errand("details", lambda client: read(client, job), came, lambda _: None, "details")


def read(client: Client, line: Json) -> Details:
    """What the row does not have. A job that has just gone is a `NotFound`; a log that is gone is none."""
    job = client.job(line["id"])
    fires = client.job_next(line["id"], FIRES)["items"] if line.get("next_run_at") else []
    durations = client.durations(line["id"], limit=DURATIONS)
    run = details.newest_run(line)
    return Details(job, fires, durations, tail(client, run) if run is not None else ())


def tail(client: Client, run_id: int, attempt: int | None = None) -> tuple[str, ...]:
    """The last lines of its log; none of one that has none, or has it no more."""
    try:
        response = client.log(run_id, attempt=attempt, offset=-details.TAIL_BYTES)
        whole = int(response.headers.get("jobctl-log-offset", "0")) == 0
        return details.tail_lines(response.read(), whole=whole)
    except JobctlError:
        return ()
