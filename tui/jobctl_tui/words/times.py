"""When one job fires: the next times on its own clock and in UTC, clock changes among them, how long it takes."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from jobctl.reading.times import of_fire, took
from jobctl_tui.words.timeline import ahead, left_out_words, usual
from jobctl_tui.words.when import When

Json = dict[str, Any]

_NOTES = {"gap": "the clock goes forward over it", "overlap": "the clock goes back: this time occurs twice"}


class Said(NamedTuple):
    """A paragraph, what stands before it, and its style."""

    text: str
    label: str = ""
    style: str = ""


class Ahead(NamedTuple):
    """What is known of a job's times."""

    job: Json
    preview: Json
    took: Json
    lane: Json | None
    """Its row of GET /v1/upcoming."""


def told(found: Ahead, when: When, now_ms: int) -> list[Said]:
    """All of it; texts of others are made safe by who shows them."""
    preview = found.preview
    clock = when.viewer(now_ms).clock
    said = [Said(f"{preview['words']}, {preview['timezone']}", "schedule", "-bold")]
    said.append(Said(usual(found.took, took) or "how long it takes is not known yet", "takes", "-dim"))
    held = found.job.get("suspended_why") or found.job.get("paused_why")
    if found.job.get("suspended_by"):
        said.append(Said(f"{held or 'a pause holds it'}: none of these starts it", "held", "-paused"))
    left_out = left_out_words(found.lane or {}, clock)
    said += [Said(left_out.partition(": ")[2], "left out", "-late")] if left_out else []
    return [*said, Said(""), *_fires(preview, now_ms), *_changes(preview)]


def _fires(preview: Json, now_ms: int) -> Iterator[Said]:
    if not preview["items"]:
        yield Said("no time starts it", "", "-dim")
    for number, fire in enumerate(preview["items"], 1):
        note = _NOTES.get(str(fire.get("note") or ""), "")
        text = f"{of_fire(fire)}   {fire['at']}   in {ahead(fire['at'], now_ms)}"
        yield Said(f"{text}   {note}" if note else text, f"{number:>2}", "-late" if note else "")


def _changes(preview: Json) -> Iterator[Said]:
    changes = preview.get("transitions") or ()
    if changes:
        yield Said("")
        yield Said("clock changes in the next 12 months", "", "-dim")
    for change in changes:
        touched = change.get("skipped") or change.get("repeated")
        yield Said(str(change["words"]), str(change["local"])[:10], "-late" if touched else "-dim")
