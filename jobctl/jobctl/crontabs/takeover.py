"""From lines to jobs and back, so that a crash in between neither loses a job nor runs one twice.

    make the jobs, paused → comment the lines out → resume the jobs
    undo: pause the jobs → put the lines back → remove the jobs

Each step can be done again; `Record` says how far it came.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from jobctl.errors import NotFound

from .commenting import comment_out, put_back
from .live import read_again, write
from .record import Record, Records, TakenTable
from .table import shown

Json = dict[str, Any]
#: Under the daemon's 1 MiB for a body, with room for what surrounds the drafts.
_BODY_BYTES = 1_000_000


class Jobs(Protocol):
    """What an import needs of a daemon."""

    def import_jobs(self, drafts: list[Json]) -> list[Json]: ...
    def jobs(self, limit: int | None = None, **filters: object) -> Iterator[Json]: ...
    def pause_job(self, ident: object, until: str | None = None, why: str | None = None) -> Json: ...
    def resume_job(self, ident: object) -> Json: ...
    def delete_job(self, ident: object, *, cancel_runs: bool = False) -> None: ...


@dataclass
class Outcome:
    """What was done. `missing`: lines that were not where they were expected, by table."""

    jobs: list[str] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    originals: list[str] = field(default_factory=list)


class Takeover:
    """Imports of one caller against one daemon."""

    def __init__(self, jobs: Jobs, records: Records, environ: Mapping[str, str]) -> None:
        self._jobs = jobs
        self._records = records
        self._environ = environ

    def unfinished(self) -> list[Record]:
        """Imports that a crash cut short after their jobs were made. One without all its jobs is undone: no line
        of it was commented out yet."""
        begun = [record for record in self._records.all() if record.host is None and record.unfinished]
        for record in begun:
            if record.state == "begun" and not self._complete(record):
                self.undo(record)
        return [record for record in begun if record.unfinished]

    def begin(self, record: Record, originals: list[bytes], drafts: list[Json]) -> Outcome:
        """Carry out an import. `drafts` must be paused where `record.resume` names them."""
        parts = list(_parts([{**draft, "tags": [*draft["tags"], record.tag]} for draft in drafts]))
        if len(parts) > 1:  # no longer one transaction, so none may start before all are there
            record.resume = [*record.resume, *(draft["name"] for draft in drafts if not draft.get("paused"))]
            parts = [[{**draft, "paused": True} for draft in part] for part in parts]
        self._records.begin(record, originals)
        for part in parts:
            self._jobs.import_jobs(part)
        return self.finish(record)

    def finish(self, record: Record) -> Outcome:
        """The steps after the jobs were made, also for an import that was cut short."""
        outcome = Outcome()
        made = self._made_by(record)
        outcome.jobs = [job["name"] for job in made]
        self._reach(record, "created")
        for table in record.tables:
            outcome.missing += [(table.path, shown_line(line)) for line in self._comment_out(table)]
        self._reach(record, "commented")
        for job in made:
            if job["name"] in record.resume and job["paused"]:
                self._jobs.resume_job(job["id"])
        self._reach(record, "done")
        return outcome

    def undo(self, record: Record) -> Outcome:
        """Put the lines back and remove the jobs. What somebody changed in a table meanwhile stays as it is."""
        outcome = Outcome()
        made = self._made_by(record)
        for job in made:
            if not job["paused"]:
                self._jobs.pause_job(job["id"], None, f"import {record.id} is being undone")
        for table in record.tables:
            missing = [(table.path, shown_line(line)) for line in self._put_back(record, table)]
            outcome.missing += missing
            if missing:
                outcome.originals.append(self._records.original_path(record, table))
        for job in made:
            self._delete(job["id"])
            outcome.jobs.append(job["name"])
        self._reach(record, "rolled back")
        return outcome

    def _comment_out(self, table: TakenTable) -> Iterable[bytes]:
        current = read_again(table.live(), self._environ)
        data, missing = comment_out(current, table.line_bytes())
        if data != current:
            write(table.live(), data, self._environ)
        return missing

    def _put_back(self, record: Record, table: TakenTable) -> Iterable[bytes]:
        current = read_again(table.live(), self._environ)
        original = self._records.original(record, table)
        if current == comment_out(original, table.line_bytes())[0]:
            data, missing = original, list[bytes]()
        else:
            data, missing = put_back(current, table.line_bytes())
        if data != current:
            write(table.live(), data, self._environ)
        return missing

    def _complete(self, record: Record) -> bool:
        return {job["name"] for job in self._made_by(record)} >= set(record.jobs)

    def _made_by(self, record: Record) -> list[Json]:
        return list(self._jobs.jobs(tag=record.tag, done=True))

    def _delete(self, ident: object) -> None:
        try:
            self._jobs.delete_job(ident)
        except NotFound:
            return

    def _reach(self, record: Record, state: str) -> None:
        record.state = state
        self._records.save(record)


def _parts(drafts: list[Json]) -> Iterator[list[Json]]:
    """As few requests as the daemon's limit on a body allows: nearly always one."""
    part: list[Json] = []
    room = _BODY_BYTES
    for draft in drafts:
        size = len(json.dumps(draft)) + 2
        if part and size > room:
            yield part
            part, room = [], _BODY_BYTES
        part.append(draft)
        room -= size
    if part:
        yield part


def shown_line(line: bytes) -> str:
    return shown(line.decode("utf-8", "surrogateescape"))
