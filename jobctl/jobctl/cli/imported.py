"""Showing what an import is about: each table, its lines, and the host as a whole."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from jobctl.cli.session import Session
from jobctl.cli.table import Cell, Column
from jobctl.reading.safe import cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobctl.crontabs.report import TableReport

Json = dict[str, Any]
Way = Literal["file", "lines", "host"]
"""Lines of a file become jobs; lines of live tables are taken out of them; the tables are run as they stand."""

_DIFFERENCES_MAX: Final = 20
#: What cron does today and would not be so any more is told first.
_ORDER: Final = ("begins", "stops", "zone", "gap", "time", "delay")

_COLUMNS = (
    Column("LINE", right=True),
    Column("SCHEDULE"),
    Column("USER", drops=2),
    Column("COMMAND", shrinks=16),
    Column("JOB", shrinks=8),
    Column("NEXT", drops=1),
)


def show_tables(session: Session, reports: "list[TableReport]", items: list[Json], way: Way) -> None:
    """Each table: its jobs, its lines that become none, and what Debian's cron makes of it."""
    render = session.render
    for number, report in enumerate(reports):
        if number:
            render.line()
        mine = [item for item in items if item["table"] == report.path]
        render.flow(f"{report.path}: {_summary(report, mine, way)}")
        rows = [_row(item) for item in mine if item["mapped"]]
        if rows:
            render.table(_COLUMNS, rows)
        for line in _words(report, mine, way):
            render.flow(line, 4)


def _summary(report: "TableReport", items: list[Json], way: Way) -> str:
    mapped = sum(item["mapped"] for item in items)
    parts = [f"{mapped} {'job' if mapped == 1 else 'jobs'}"]
    if rest := len(items) - mapped:
        parts.append(f"{count(rest)} {_left(rest, way)}")
    parts.append(f"{count(len(report.crontab.refused))} refused")
    verdict = "Debian's cron loads it"
    if report.crontab.drops:
        verdict = f"Debian's cron ignores the whole file: {'; '.join(report.crontab.drops)}"
    return f"{', '.join(parts)}; {verdict}"


def count(lines: int) -> str:
    return f"{lines} {'line' if lines == 1 else 'lines'}"


def _left(lines: int, way: Way) -> str:
    """What happens to lines that cron takes and we do not; those of a file are nobody's."""
    if way == "host":
        return "is no job of jobd" if lines == 1 else "are no jobs of jobd"
    if way == "lines":
        return "stays with cron" if lines == 1 else "stay with cron"
    return "becomes no job" if lines == 1 else "become no job"


def _row(item: Json) -> list[Cell | str | int | None]:
    state = f"already imported as {item['imported_as']}" if item["imported_as"] else str(item["name"])
    if _comes_in_paused(item):
        state += " (paused)"
    return [item["line"], item["schedule"], item["user"], item["command"], Cell(state, style="strong"), _next(item)]


def _next(item: Json) -> str:
    from jobctl.reading.times import of_fire

    if item["schedule"] == "@reboot":
        return "on boot"
    return of_fire(item["next"][0]) if item["next"] else "never"


def _words(report: "TableReport", items: list[Json], way: Way) -> Iterator[str]:
    """What a table has no room for, by line."""
    from jobctl.crontabs.report import remarks

    said: list[tuple[int, str]] = []
    for item in items:
        number = item["line"]
        if not item["mapped"]:
            what = f"{_left(1, way)}: {cell(item['schedule'])} {cell(item['command'])}"
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


def show_host(session: Session, value: Json) -> None:
    """The host as a whole: numbers, its cron, and what would be different afterwards."""
    render, host = session.render, value["host"]
    render.line()
    users = len(host["users"])
    refused = f", {count(host['refused'])} refused" if host["refused"] else ""
    left = f", {count(host['left'])} {_left(host['left'], 'host')}" if host["left"] else ""
    tables = f"{host['tables']} {'table' if host['tables'] == 1 else 'tables'}"
    jobs = f"{host['jobs']} {'job' if host['jobs'] == 1 else 'jobs'}"
    render.flow(f"this host: {tables}, {users} {'user' if users == 1 else 'users'}: {jobs}{left}{refused}")
    render.flow(f"cron: {cron_words(host['cron'])}")
    if host["live"]:
        render.flow("jobd runs these tables already")
    for one in value["periodic"]:
        if one["run_by"]:
            render.flow(f"{cell(one['path'])}: {len(one['entries'])}, run by {cell(one['run_by'])}", 4)
    for text in warnings(value):
        render.flow(text, 4)
    show_differences(session, value["differences"])
    for remark in host["remarks"]:
        render.flow(remark)


def cron_words(cron: Json) -> str:
    """`cron, pid 77; cron.service starts it at boot`."""
    parts = [f"{one['name']}, pid {one['pid']}, runs" for one in cron["processes"]]
    parts += [f"{one['name']} starts it at boot" for one in cron["services"] if one["enabled"]]
    return "; ".join(parts) or "none runs, and none is started at boot"


def warnings(value: Json) -> Iterator[str]:
    """What nobody may overlook: lines that begin or cease to run."""
    live = value["host"]["live"]
    for kind, words in (
        ("begins", "that cron would ignore IS run" if live else "that cron ignores today would BEGIN to run"),
        ("stops", "that cron would run is NOT run" if live else "that cron runs today would NOT run any more"),
    ):
        found = [one for one in value["differences"] if one["kind"] == kind]
        if found:
            yield f"{count(len(found))} {words}: {cell(_places(found))}"
    for one in value["periodic"]:
        if one["begins"]:
            what = "is run by jobd" if live else "nothing runs today would BEGIN to run"
            yield f"{cell(one['path'])}: {cell(', '.join(one['begins']))}, which {what}"


def _places(found: Iterable[Json]) -> str:
    by_table: dict[str, list[str]] = {}
    for one in found:
        by_table.setdefault(one["table"], []).append(str(one["line"]))
    return "; ".join(
        f"{table}, line{'s' if len(lines) > 1 else ''} {', '.join(lines)}" for table, lines in by_table.items()
    )


def show_differences(session: Session, found: list[Json]) -> None:
    """Line by line: why, and the first starts that only one of the two has."""
    render = session.render
    if not found:
        render.flow(
            "all lines would be started as by Debian's cron, in the next week and at the clock changes of a year"
        )
        return
    ordered = sorted(found, key=lambda one: _ORDER.index(one["kind"]))
    render.line()
    render.flow("not as with Debian's cron:")
    for one in ordered[:_DIFFERENCES_MAX]:
        render.flow(f"{cell(one['table'])}, line {one['line']}: {cell(one['schedule'])} {cell(one['command'])}", 4)
        render.flow(f"    {cell(one['reason'])}", 8)
        for who in ("cron", "jobd"):
            if one[who]:
                render.flow(f"    {who} {', '.join(_short(session, one[who]))}", 8)
    if len(found) > _DIFFERENCES_MAX:
        render.flow(f"and {len(found) - _DIFFERENCES_MAX} more: --json has them all")


def _short(session: Session, instants: list[str]) -> list[str]:
    return [session.viewer.full(at) for at in dict.fromkeys(instants)]
