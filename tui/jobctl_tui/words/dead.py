"""Dead letters as rows: groups that failed in the same way, folded or not, and each letter with what is known of it."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobctl.reading.runs import failure, first_line, target
from jobctl.reading.safe import cell
from jobctl.reading.times import milliseconds
from jobctl_tui.words.glyphs import Glyphs
from jobctl_tui.words.job import ago
from jobctl_tui.words.when import When

Json = dict[str, Any]
Words = tuple[str, str]
Line = list[Words]

#: Letters of a group that are shown below it; more are narrowed down by a filter.
SHOWN_MAX: Final = 200


class Group(NamedTuple):
    """A row that stands for all letters of one fingerprint."""

    line: Json
    open: bool


class Letter(NamedTuple):
    """A row of one dead letter; `below` when it stands under its group."""

    run: Json
    below: bool


Row = Group | Letter


class About(NamedTuple):
    """What is read of the letter under the cursor, or of the newest of a group."""

    run: Json
    job: Json | None
    work: Json | None
    tries: Sequence[Json]
    tail: tuple[str, ...]


def group_key(fingerprint: str) -> int:
    """Below zero, where no id of a run is; the same after every refresh."""
    try:
        return -int(fingerprint, 16) - 1
    except ValueError:  # "restored", "unknown"
        return -zlib.crc32(fingerprint.encode()) - 1


def key(row: Row) -> int:
    return group_key(str(row.line["fingerprint"])) if isinstance(row, Group) else int(row.run["id"])


def rows(groups: Iterable[Json], letters: Mapping[str, Sequence[Json]], unfolded: frozenset[str]) -> list[Row]:
    """Each group, and below the unfolded ones those of their letters that have come."""
    made: list[Row] = []
    for line in groups:
        fingerprint = str(line["fingerprint"])
        made.append(Group(line, fingerprint in unfolded))
        if fingerprint in unfolded:
            made += [Letter(run, below=True) for run in letters.get(fingerprint, ())[:SHOWN_MAX]]
    return made


def said(line: Json) -> str:
    """What it failed of, of a group or a letter: the line it printed last, else how it ended and why."""
    error = first_line(line.get("error"))
    return cell(error or first_line(line.get("reason")) or failure(line))


def jobs(line: Json) -> str:
    """The jobs of a group: one by its name, several by the first and a number."""
    names = line.get("jobs") or []
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return f"{cell(names[0])}{more}" if names else ""


def cells(row: Row, glyphs: Glyphs, when: When, now_ms: int) -> tuple[Words, ...]:
    """ERROR, JOB, N, NEWEST, OLDEST, RESULT."""
    if isinstance(row, Group):
        line = row.line
        fold = glyphs.unfolded if row.open else glyphs.folded
        only = f"the newest {SHOWN_MAX} below: " if row.open and int(line["count"]) > SHOWN_MAX else ""
        return (
            (f"{fold} {only}{said(line)}", "-failed"),
            (jobs(line), ""),
            (str(line["count"]), ""),
            (ago(str(line["last_at"]), now_ms), ""),
            (ago(str(line["first_at"]), now_ms), "-dim"),
            (cell(failure(line)), "-failed"),
        )
    run = row.run
    head = f"  · run {run['id']}" if row.below else f"run {run['id']}  {said(run)}"
    return (
        (f"{head}{_history(run)}" if row.below else head, "" if row.below else "-failed"),
        (cell(run["job"]), ""),
        ("", ""),
        (_died(run, when, now_ms), ""),
        ("", ""),
        (cell(failure(run)), "-failed"),
    )


def _died(run: Json, when: When, now_ms: int) -> str:
    at = str(run["finished_at"])
    return when.short(at, now_ms) if when.form == "absolute" else ago(at, now_ms)


def _history(run: Json) -> str:
    """`  3 attempts, replayed 2×`."""
    attempts, replays = int(run["attempt"]), int(run["replays"])
    replayed = f", replayed {replays}×" if replays else ""
    return f"  {attempts} attempt{'' if attempts == 1 else 's'}{replayed}"


def total(groups: Sequence[Json]) -> str:
    """`4 letters · 2 groups`."""
    count = sum(int(line["count"]) for line in groups)
    return f"{count_words(count)} · {len(groups)} group{'' if len(groups) == 1 else 's'}"


def count_words(number: int) -> str:
    return f"{number:,} dead letter".replace(",", " ") + ("" if number == 1 else "s")


def changed_since(run: Json, job: Json | None) -> str:
    """Whether the job is still what failed."""
    if run.get("edited"):
        return "it ran what a replay had changed for it"
    if job is None:
        return "the job is gone"
    if int(job["version"]) == int(run["version"]):
        return "no"
    return f"yes, version {run['version']} → {job['version']}"


def replayed_before(run: Json) -> str:
    """How often, and how that ended: a letter is dead, so that each of its replays died again or was put back."""
    replays = int(run["replays"])
    back = run.get("put_back")
    last = f"; put back when run {back['run']} died again" if back else ""
    return f"{replays}×, died again{last}" if replays else f"never{last}"


def replayed(letters: Sequence[Json], of: Mapping[int, Json | None], how: Json) -> str:
    """`replayed 1 dead letter: run 4812 of backup-db, as version 9`: which run it is, and what it runs this time."""
    words = f"replayed {count_words(len(letters))}"
    if len(letters) == 1:
        run = letters[0]
        job = of.get(int(run["job_id"]))
        version = job["version"] if how.get("current") and job is not None else run["version"]
        words += f": run {run['id']} of {cell(run['job'])}, as version {version}"
    elif how.get("current"):
        words += ", as their jobs are now"
    return f"{words}, with another command" if how.get("edit") else words


def attempts(tries: Sequence[Json]) -> str:
    """How each attempt ended, the same ones counted: `3 × exit 1`, `2 × exit 1, then timed out`."""
    ends: list[tuple[str, int]] = []
    for attempt in tries:
        word = failure(attempt) if attempt.get("class") else "ok" if attempt.get("ended_at") else "running"
        if ends and ends[-1][0] == word:
            ends[-1] = (word, ends[-1][1] + 1)
        else:
            ends.append((word, 1))
    return ", then ".join(f"{count} × {cell(word)}" if count > 1 else cell(word) for word, count in ends)


def work(of: Json) -> list[tuple[str, str]]:
    """What it runs, its input and its environment, without a value of it: they may be secrets."""
    names = sorted(of.get("env") or {})
    facts = [("runs", cell(target(of)))]
    if of.get("payload_ref"):
        facts.append(("input", cell(of["payload_ref"])))
    elif of.get("stdin"):
        facts.append(("input", f"{len(str(of['stdin']))} characters"))
    if names:
        facts.append(("env", cell(", ".join(names))))
    return facts


def warning(failed_again: int, count: int) -> str:
    """What is to be known before they are replayed; empty: nothing."""
    if failed_again < 2:
        return ""
    probe = "; replay one of them first, to see" if count > 1 else ""
    return f"the last {failed_again} replays of this failure died again: mend the cause first{probe}"


def expect(durations: Sequence[float], count: int, *, one_by_one: bool) -> str:
    """About how long it takes, by the median of the jobs' durations in seconds; empty when nothing is known."""
    from jobctl.reading.times import span

    if not durations:
        return ""
    each = sum(durations) / len(durations)
    return f"about {span(each * count)}, one after the other" if one_by_one else f"about {span(each)} each"


def oldest(runs: Sequence[Json]) -> Json:
    return min(runs, key=lambda run: milliseconds(str(run["finished_at"])))


def below(row: Row, about: About | None, room: int) -> list[Line]:
    """The end of its log, then what it ran, whether that has changed since, and how replays of it have ended."""
    if about is None:
        return [[(said(row.line if isinstance(row, Group) else row.run), "-failed")]]
    run = about.run
    facts: list[Line] = []
    for label, text in work(about.work) if about.work is not None else []:
        facts.append([(f"{label.ljust(9)}", "-dim"), (text, "")])
    ended = attempts(about.tries)
    facts.append([("attempts ", "-dim"), (ended, ""), ("   replayed before ", "-dim"), (replayed_before(run), "")])
    changed = changed_since(run, about.job)
    facts.append([("job changed since? ", "-dim"), (changed, "" if changed == "no" else "-late")])
    if isinstance(row, Group):
        warned = warning(int(row.line["replays"]), int(row.line["count"]))
        facts += [[(f"! {warned}", "-late")]] if warned else []
    reason = first_line(run.get("reason"))
    logged: list[Line] = [[(text, "")] for text in about.tail]
    if not logged:
        logged = [[(cell(reason) or failure(run), "-failed"), ("   it printed nothing", "-dim")]]
    kept = max(1, room - len(facts) - (1 if room > len(facts) + 2 else 0))
    lines = logged[-kept:]
    gap: list[Line] = [[]] if room > len(facts) + 2 else []
    return [*lines, *gap, *facts][:room]
