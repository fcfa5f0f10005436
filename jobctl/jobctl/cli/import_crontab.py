"""`jobctl import crontab`: what each line of a crontab becomes; with --apply it becomes that."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from jobctl.cli.asking import confirm
from jobctl.cli.ending import Ended, How
from jobctl.cli.imported import Way, count, show_tables
from jobctl.cli.importing import jobs_if_any, new_record, state_dir, takeover_of
from jobctl.cli.session import Session
from jobctl.errors import DaemonError, InvalidInput
from jobctl.reading.safe import cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobctl.crontabs.live import LiveTable
    from jobctl.crontabs.report import TableReport
    from jobctl.crontabs.survey import Wishes
    from jobctl.crontabs.takeover import Takeover

Json = dict[str, Any]

EXAMPLES = (
    ("jobctl import crontab", "what your own crontab would become; changes nothing"),
    ("jobctl import crontab --apply", "make the jobs, and comment the lines out"),
    ("jobctl import crontab jobs.txt --apply", "from a file; lines that cron runs already come in paused"),
    ("jobctl import crontab --system", "as root: what would become of this host's tables, and what would be different"),
    ("jobctl import crontab --system --apply --yes", "cron is stopped, and the daemon runs the tables as they stand"),
    (
        "jobctl import crontab --rollback",
        "undo the last import: lines go back, jobs go away; or cron runs the host again",
    ),
)


def verb(
    ctx: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="a file, - for stdin, nothing for the live crontab", show_default=False),
    ] = None,
    system: Annotated[
        bool, typer.Option("--system", help="FILE has a user column; without FILE: this host's tables")
    ] = False,
    dialect: Annotated[
        str, typer.Option("--dialect", metavar="cronie|debian", help="debian: CRON_TZ is a plain variable")
    ] = "cronie",
    apply: Annotated[bool, typer.Option("--apply", help="do it; without this nothing is changed")] = False,
    comment_out: Annotated[
        bool,
        typer.Option("--comment-out", help="with --system: leave cron running, and take the lines out of its tables"),
    ] = False,
    rollback: Annotated[bool, typer.Option("--rollback", help="undo the last import, or the one named")] = False,
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="put before each job's name")] = "",
    tz: Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="the zone of the schedules")] = None,
    users: Annotated[
        str | None, typer.Option("--users", metavar="A,B", help="users that exist where FILE is from")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="end with 1 when a line is not mapped")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="do not ask before taking over this host's tables")] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="take the host over though nothing starts jobd at boot; go back without jobd"),
    ] = False,
) -> None:
    """Read a crontab line by line: the job each line becomes, its next fires, or why it is refused.

    Nothing is changed without --apply. From the live crontab the lines are commented out once their jobs exist; from a
    file, jobs whose line cron runs already come in paused: nothing runs twice. A line imported before is left alone.
    With --system the system daemon takes the whole host over: cron is stopped and the tables are run as they stand, and
    --rollback gives them back. Ends with 0, also when lines are refused; with --strict then with 1; with 7 when a table
    had changed meanwhile.
    """
    session: Session = ctx.obj
    if rollback:
        from jobctl.cli.import_undo import roll_back

        roll_back(session, file, force=force)
        return
    wishes = _wishes(session, dialect, tz, prefix, users)
    if file is None and system and not comment_out and _serves_the_host(session):
        from jobctl.cli.import_host import HostImport

        _as_they_stand(dialect, tz, prefix, users)
        host = HostImport(session, wishes)
        reports = host.apply(yes=yes, force=force) if apply else host.report()
    else:
        work = _Import(session, file, system, wishes)
        reports = work.apply(yes=yes) if apply else work.report()
    if strict and _differs(reports):
        raise Ended(How.TROUBLE)


def _serves_the_host(session: Session) -> bool:
    """Whether --system means the host's tables as they stand: for root, and the daemon of the system. Where none
    answers it is that one which would be started."""
    if session.world.uid != 0:
        return False
    try:
        status = session.reader().status()
    except DaemonError:
        return not (session.places.named or session.world.environ.get("JOBCTL_HOME"))
    return bool(status["system"]) and not status["home"]


def _as_they_stand(dialect: str, tz: str | None, prefix: str, users: str | None) -> None:
    """Raises for options that the tables themselves decide."""
    for option, given in (("--tz", tz), ("--prefix", prefix), ("--users", users), ("--dialect", dialect != "cronie")):
        if given:
            why = "with --system the tables are run as they stand"
            raise InvalidInput(
                f"{option} cannot be: {why}", "write it in the table, or say --comment-out", field=option
            )


def _differs(reports: "list[TableReport]") -> bool:
    """Whether some line became no job."""
    return any(report.crontab.refused or any(one.problem for one in report.planned) for report in reports)


def _wishes(session: Session, dialect: str, tz: str | None, prefix: str, users: str | None) -> "Wishes":
    from jobctl.crontabs.survey import Wishes
    from jobctl.schedule import find_zone

    if tz is not None:
        find_zone(tz)
    names = frozenset(users.split(",")) if users is not None else None
    root = session.world.uid == 0
    if dialect == "debian":
        return Wishes(_caller(session), root, "debian", tz, prefix, names)
    if dialect == "cronie":
        return Wishes(_caller(session), root, "cronie", tz, prefix, names)
    raise InvalidInput(f"--dialect is cronie or debian, not {dialect!r}", "leave it out for cronie", field="--dialect")


def _caller(session: Session) -> str:
    from jobctl.crontabs.users import name_of_uid

    return name_of_uid(session.world.uid)


class _Import:
    """One import, from the tables to the printed report."""

    def __init__(self, session: Session, file: str | None, system: bool, wishes: "Wishes") -> None:
        self._session = session
        self._file = file
        self._system = system
        self._wishes = wishes
        self._reports: list[TableReport] = []

    @property
    def _way(self) -> Way:
        return "file" if self._file is not None else "lines"

    def report(self) -> "list[TableReport]":
        self._survey(self._tables(), jobs_if_any(self._session))
        self._print(None)
        if not self._session.render.machine:
            self._session.render.word("nothing was changed: --apply does it")
        return self._reports

    def apply(self, *, yes: bool) -> "list[TableReport]":
        from jobctl.crontabs.record import Records

        if self._file is None and self._system and not yes:
            what = "every crontab of this host, commenting its lines out"
            confirm(self._session, f"take over {what}", "takes over every crontab of the host", "changed")
        client = self._session.writer()
        records = Records(state_dir(self._session))
        with records.locked():
            takeover = takeover_of(self._session, client, records)
            for record in takeover.unfinished():
                takeover.finish(record)
                self._session.render.word(f"finished import {record.id}, which had been cut short")
            tables = self._tables()
            jobs = list(client.jobs(done=True))
            self._survey(tables, jobs)
            applied = self._carry_out(takeover, tables, jobs)
        self._print(applied)
        if applied["missing"]:
            raise Ended(How.PARTLY)
        return self._reports

    def _tables(self) -> "list[LiveTable]":
        from jobctl.crontabs.live import LiveTable, host_tables, own_table, read_file

        world = self._session.world
        caller = self._wishes.caller
        if self._file is not None:
            data = world.stdin.buffer.read() if self._file == "-" else read_file(self._file)
            return [LiveTable(_whole(self._file), data, None if self._system else caller)]
        if self._system:
            return host_tables(world.environ, caller, world.uid)
        own = own_table(world.environ, caller)
        if own is None:
            self._session.render.word(f"{caller} has no crontab")
        return [own] if own else []

    def _survey(self, tables: "list[LiveTable]", jobs: list[Json]) -> None:
        from jobctl.crontabs.survey import known_tables, survey

        world = self._session.world
        elsewhere = known_tables(world.environ, self._wishes.caller, world.uid) if self._file is not None else []
        self._reports = survey(tables, self._wishes, jobs, elsewhere)

    def _carry_out(self, takeover: "Takeover", tables: "list[LiveTable]", jobs: list[Json]) -> Json:
        from jobctl.crontabs.survey import drafts_of, taken_tables

        live = self._file is None
        drafts = drafts_of(self._reports, live=live)
        taken, originals = taken_tables(tables, self._reports, jobs) if live else ([], [])
        applied: Json = {"import": None, "created": [], "paused": [], "commented": 0, "missing": []}
        if not drafts and not taken:
            return applied
        record = new_record(self._session)
        record.tables = taken
        record.jobs = [draft["name"] for draft in drafts]
        record.resume = record.jobs if live else []
        from jobctl.cli.progress import Progress

        with Progress(self._session, f"import of {count(len(drafts))}"):
            outcome = takeover.begin(record, originals, drafts)
        applied["import"] = record.id
        applied["created"] = outcome.jobs
        applied["paused"] = [] if live else [draft["name"] for draft in drafts if draft["paused"]]
        applied["commented"] = sum(len(table.lines) for table in taken) - len(outcome.missing)
        applied["missing"] = [{"table": path, "text": text} for path, text in outcome.missing]
        return applied

    def _print(self, applied: Json | None) -> None:
        from jobctl.crontabs.against_cron import as_rows, differences
        from jobctl.crontabs.report import as_json
        from jobctl.schedule import host_zone

        now_ms, zone = self._session.world.clock.now_ms(), host_zone()[0]
        value = as_json(self._reports, now_ms, self._wishes.tz or zone)
        if applied is not None:
            value["applied"] = applied
        value["differences"] = as_rows(differences(self._reports, now_ms, zone, takes_over=False))
        if self._session.render.output == "json":
            self._session.render.json(value)
            return
        self._session.render.listing(
            value["items"],
            name=lambda item: str(item["name"] or f"line-{item['line']}"),
            fields=("table", "line", "schedule", "user", "command", "stdin", "name", "problem"),
            show=lambda items: show_tables(self._session, self._reports, items, self._way),
        )
        if applied is not None and not self._session.render.machine:
            for word in _what_was_done(applied):
                self._session.render.word(word)


def _whole(path: str) -> str:
    import os

    return "stdin" if path == "-" else os.path.abspath(path)


def _what_was_done(applied: Json) -> Iterator[str]:
    made = len(applied["created"])
    if applied["import"] is None:
        yield "nothing to do: every line that can be a job is one already"
        return
    taken = f", commented {count(applied['commented'])} out of the live tables" if applied["commented"] else ""
    yield f"made {made} {'job' if made == 1 else 'jobs'}{taken}"
    for line in applied["missing"]:
        yield f"{line['table']} has changed, this line was not found: {cell(line['text'])}"
    yield f"undo it with: jobctl import crontab --rollback {applied['import']}"
