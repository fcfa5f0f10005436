"""Times as one reader has asked for them: in which zone, and whether relative, absolute or both."""

from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Final, Literal

from jobctl.errors import InvalidInput
from jobctl.reading.times import Viewer, milliseconds, rfc3339, span
from jobctl.schedule import find_zone

Zone = Literal["local", "utc", "job"]
Form = Literal["relative", "absolute", "both"]

_ZONES: Final[tuple[Zone, ...]] = ("local", "utc", "job")
_FORMS: Final[tuple[Form, ...]] = ("relative", "absolute", "both")


@dataclass(frozen=True, slots=True)
class When:
    """`z` and `t` make the next one of it. Instants are those of the API: RFC 3339 texts."""

    zone: Zone = "local"
    form: Form = "relative"
    local: tzinfo | None = None
    """The reader's zone; None for that of the process."""

    def viewer(self, now_ms: int, job_zone: str | None = None) -> Viewer:
        """`job_zone` counts where times are to be shown in the zone of the job, and is a zone that this host knows."""
        return Viewer(now_ms, zone=self._zone(job_zone))

    def text(self, at: str, now_ms: int, job_zone: str | None = None) -> str:
        """`in 23h47m`, `Mon 03:00 CET`, or `Mon 03:00 CET, in 23h47m`."""
        viewer = self.viewer(now_ms, job_zone)
        if self.form == "relative":
            return viewer.ago(at)
        return viewer.clock(at) if self.form == "absolute" else viewer.both(at)

    def short(self, at: str, now_ms: int, job_zone: str | None = None) -> str:
        """For a narrow column, where both do not fit: `23h47m` without `in` or `ago`, or the clock."""
        if self.form == "absolute":
            return self.viewer(now_ms, job_zone).clock(at)
        return span((milliseconds(at) - now_ms) / 1000)

    def clock(self, now_ms: int) -> str:
        """What stands on the status line: `03:12:41 CET`."""
        return self.viewer(now_ms).clock(rfc3339(now_ms // 1000 * 1000), exact=True)

    def next_zone(self) -> "When":
        return replace(self, zone=_ZONES[(_ZONES.index(self.zone) + 1) % len(_ZONES)])

    def next_form(self) -> "When":
        return replace(self, form=_FORMS[(_FORMS.index(self.form) + 1) % len(_FORMS)])

    def _zone(self, job_zone: str | None) -> tzinfo | None:
        if self.zone == "utc":
            return UTC
        if self.zone == "job" and job_zone:
            try:
                return find_zone(job_zone)
            except InvalidInput:
                return self.local
        return self.local
