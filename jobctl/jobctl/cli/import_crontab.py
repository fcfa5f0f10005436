"""`jobctl import crontab`: what each line of a crontab becomes; with --apply it becomes that."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from jobctl.cli.ending import Ended, How
from jobctl.cli.safe import cell
from jobctl.cli.session import Session
from jobctl.cli.table import Cell, Column
from jobctl.errors import Conflict, DaemonError, InvalidInput

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
    ("jobctl import crontab --system --apply --yes", "as root: /etc/crontab, /etc/cron.d and everybody's crontabs"),
    ("jobctl import crontab --rollback", "undo the last import: the lines go back, its jobs go away"),
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
    rollback: Annotated[bool, typer.Option("--rollback", help="undo the last import, or the one named")] = False,
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="put before each job's name")] = "",
    tz: Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="the zone of the schedules")] = None,
    users: Annotated[
        str | None, typer.Option("--users", metavar="A,B", help="users that exist where FILE is from")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="end with 1 when a line is not mapped")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="do not ask before taking over this host's tables")] = False,
) -> None:
    """Read a crontab line by line: the job each line becomes, its next fires, or why it is refused.

    Nothing is changed without --apply. From the live crontab the lines are commented out once their jobs exist; from a
    file, jobs whose line cron runs already come in paused: nothing runs twice. A line imported before is left alone.
    Ends with 0, also when lines are refused; with --strict then with 1; with 7 when a table had changed meanwhile.
    """
    session: Session = ctx.obj
    if rollback:
        _roll_back(session, file)
        return
    work = _Import(session, file, system, _wishes(session, dialect, tz, prefix, users))
    if apply:
        work.apply(yes=yes)
    else:
        work.report()
    if strict and work.differs():
        raise Ended(How.TROUBLE)


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

    def report(self) -> None:
        self._survey(self._tables(), _jobs_if_any(self._session))
        self._print(None)
        if not self._session.render.machine:
            self._session.render.word("nothing was changed: --apply does it")

    def apply(self, *, yes: bool) -> None:
        from jobctl.crontabs.record import Records

        if self._file is None and self._system and not yes:
            self._ask()
        client = self._session.writer()
        records = Records(_state_dir(self._session))
        with records.locked():
            takeover = _takeover(self._session, client, records)
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

    def differs(self) -> bool:
        """Whether some line became no job."""
        return any(
            report.crontab.refused or any(one.problem for one in report.planned) for report in self._reports
        )  # fmt: skip

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
        record = _new_record(self._session)
        record.tables = taken
        record.jobs = [draft["name"] for draft in drafts]
        record.resume = record.jobs if live else []
        outcome = takeover.begin(record, originals, drafts)
        applied["import"] = record.id
        applied["created"] = outcome.jobs
        applied["paused"] = [] if live else [draft["name"] for draft in drafts if draft["paused"]]
        applied["commented"] = sum(len(table.lines) for table in taken) - len(outcome.missing)
        applied["missing"] = [{"table": path, "text": text} for path, text in outcome.missing]
        return applied

    def _ask(self) -> None:
        if not self._session.world.interactive():
            raise InvalidInput("this takes over every crontab of the host, and there is nobody to ask", "say --yes")
        self._session.render.word("take over every crontab of this host, commenting its lines out? [y/N]")
        if self._session.world.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Conflict("nothing was changed", "answer y, or say --yes")

    def _print(self, applied: Json | None) -> None:
        from jobctl.crontabs.report import as_json
        from jobctl.schedule import host_zone

        value = as_json(self._reports, self._session.world.clock.now_ms(), self._wishes.tz or host_zone()[0])
        if applied is not None:
            value["applied"] = applied
        if self._session.render.output == "json":
            self._session.render.json(value)
            return
        self._session.render.listing(
            value["items"],
            name=lambda item: str(item["name"] or f"line-{item['line']}"),
            fields=("table", "line", "schedule", "user", "command", "stdin", "name", "problem"),
            show=lambda items: _show(self._session, self._reports, items, live=self._file is None),
        )
        if applied is not None and not self._session.render.machine:
            for word in _what_was_done(applied):
                self._session.render.word(word)


def _whole(path: str) -> str:
    import os

    return "stdin" if path == "-" else os.path.abspath(path)


def _state_dir(session: Session) -> str:
    from jobctl.paths import daemon_places

    return daemon_places(session.world.environ, session.world.uid).state_dir


def _takeover(session: Session, client: Any, records: Any) -> "Takeover":
    from jobctl.crontabs.takeover import Takeover

    return Takeover(client, records, session.world.environ)


def _new_record(session: Session) -> Any:
    import secrets

    from jobctl.cli.times import rfc3339
    from jobctl.crontabs.record import Record

    now = rfc3339(session.world.clock.now_ms() // 1000 * 1000)
    stamp = now.replace("-", "").replace(":", "").lower().removesuffix("z")
    return Record(f"{stamp}-{secrets.token_hex(2)}", now)


def _jobs_if_any(session: Session) -> list[Json]:
    """A report needs no daemon: without one nothing has been imported."""
    try:
        return list(session.reader().jobs(done=True))
    except DaemonError:
        return []


_COLUMNS = (
    Column("LINE", right=True),
    Column("SCHEDULE"),
    Column("USER", drops=2),
    Column("COMMAND", shrinks=16),
    Column("JOB", shrinks=8),
    Column("NEXT", drops=1),
)


def _show(session: Session, reports: "list[TableReport]", items: list[Json], *, live: bool) -> None:
    """Each table: its jobs, its lines that become none, and what Debian's cron makes of it."""
    render = session.render
    for number, report in enumerate(reports):
        if number:
            render.line()
        mine = [item for item in items if item["table"] == report.path]
        render.flow(f"{report.path}: {_summary(report, mine, live=live)}")
        rows = [_row(item) for item in mine if item["mapped"]]
        if rows:
            render.table(_COLUMNS, rows)
        for line in _words(report, mine, live=live):
            render.flow(line, 4)


def _summary(report: "TableReport", items: list[Json], *, live: bool) -> str:
    mapped = sum(item["mapped"] for item in items)
    parts = [f"{mapped} {'job' if mapped == 1 else 'jobs'}"]
    if rest := len(items) - mapped:
        parts.append(f"{_count(rest)} {_left(rest, live=live)}")
    parts.append(f"{_count(len(report.crontab.refused))} refused")
    verdict = "Debian's cron loads it"
    if report.crontab.drops:
        verdict = f"Debian's cron ignores the whole file: {'; '.join(report.crontab.drops)}"
    return f"{', '.join(parts)}; {verdict}"


def _count(lines: int) -> str:
    return f"{lines} {'line' if lines == 1 else 'lines'}"


def _left(lines: int, *, live: bool) -> str:
    """What happens to lines that cron takes and we do not; those of a file are nobody's."""
    if live:
        return "stays with cron" if lines == 1 else "stay with cron"
    return "becomes no job" if lines == 1 else "become no job"


def _row(item: Json) -> list[Cell | str | int | None]:
    state = f"already imported as {item['imported_as']}" if item["imported_as"] else str(item["name"])
    if _comes_in_paused(item):
        state += " (paused)"
    return [item["line"], item["schedule"], item["user"], item["command"], Cell(state, style="strong"), _next(item)]


def _next(item: Json) -> str:
    from jobctl.cli.times import of_fire

    if item["schedule"] == "@reboot":
        return "on boot"
    return of_fire(item["next"][0]) if item["next"] else "never"


def _words(report: "TableReport", items: list[Json], *, live: bool) -> Iterator[str]:
    """What a table has no room for, by line."""
    from jobctl.crontabs.report import remarks

    said: list[tuple[int, str]] = []
    for item in items:
        number = item["line"]
        if not item["mapped"]:
            what = f"{_left(1, live=live)}: {cell(item['schedule'])} {cell(item['command'])}"
            said += [(number, f"line {number}: {what}"), (number, f"    {cell(item['problem'])}")]
        said += [(number, f"line {number}: {cell(note)}") for note in item["notes"]]
    for line in report.crontab.refused:
        said.append((line.line, f"line {line.line}: refused, cron does not take it: {cell(line.text)}"))
        said.append((line.line, f"    {cell(line.reason)}"))
    yield from (text for _, text in sorted(said, key=lambda one: one[0]))
    paused = [f"{item['name']} ({item['active_in']})" for item in items if _comes_in_paused(item)]
    if paused:
        yield f"paused, because cron runs them already: {cell(', '.join(paused))}"
    for remark in remarks(report):
        yield cell(remark)


def _comes_in_paused(item: Json) -> bool:
    return bool(item["mapped"] and item["active_in"] and not item["imported_as"])


def _what_was_done(applied: Json) -> Iterator[str]:
    made = len(applied["created"])
    if applied["import"] is None:
        yield "nothing to do: every line that can be a job is one already"
        return
    taken = f", commented {_count(applied['commented'])} out of the live tables" if applied["commented"] else ""
    yield f"made {made} {'job' if made == 1 else 'jobs'}{taken}"
    for line in applied["missing"]:
        yield f"{line['table']} has changed, this line was not found: {cell(line['text'])}"
    yield f"undo it with: jobctl import crontab --rollback {applied['import']}"


def _roll_back(session: Session, ident: str | None) -> None:
    from jobctl.crontabs.record import Records

    records = Records(_state_dir(session))
    client = session.writer()
    with records.locked():
        record = records.find(ident)
        if record.state == "rolled back":
            raise Conflict(f"import {record.id} is undone already", "see jobctl ls")
        outcome = _takeover(session, client, records).undo(record)
    missing = [{"table": path, "text": text} for path, text in outcome.missing]
    if session.render.machine:
        session.render.json({"schema": 1, "import": record.id, "removed": outcome.jobs, "missing": missing})
    else:
        removed = f"{len(outcome.jobs)} {'job' if len(outcome.jobs) == 1 else 'jobs'} removed"
        back = ", their lines put back" if record.tables else ""
        session.render.flow(f"undid import {record.id}: {removed}{back}")
    for line in missing:
        session.render.word(f"not found in {line['table']}, so not put back: {cell(line['text'])}")
    for path in outcome.originals:
        session.render.word(f"the table as it was: {path}")
    if missing:
        raise Ended(How.PARTLY)
