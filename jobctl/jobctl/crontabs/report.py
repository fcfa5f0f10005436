"""What an import would do, as data: the shape that scripts build on, and a few keys more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobctl.addresses import may_get_mail

from .jobs import Planned
from .table import Crontab, shown

Json = dict[str, Any]
FIRES = 3


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table, its lines and their jobs. `imported`: position of a line → the job an earlier import made of it."""

    path: str
    crontab: Crontab
    planned: Sequence[Planned]
    imported: Mapping[int, str]
    active: Mapping[int, str]
    """Position of a line → where else cron runs it: its job would come in paused."""


def as_json(reports: Sequence[TableReport], now_ms: int, zone: str) -> Json:
    """`{"schema": 1, "items", "refused", "env", "debian"}`; every entry says its table, `tables` what Debian does."""
    return {
        "schema": 1,
        "items": [item for report in reports for item in _items(report, now_ms, zone)],
        "refused": [
            {"line": line.line, "text": line.text, "reason": line.reason, "table": report.path}
            for report in reports
            for line in report.crontab.refused
        ],
        "env": [
            {"line": env.line, "name": shown(env.name), "value": shown(env.value), "table": report.path}
            for report in reports
            for env in report.crontab.env
        ],
        "debian": "drops the file" if any(report.crontab.drops for report in reports) else "loads",
        "tables": [
            {"table": report.path, "debian": report.crontab.debian, "why": list(report.crontab.drops)}
            for report in reports
        ],
        "remarks": [remark for report in reports for remark in remarks(report)],
    }


def _items(report: TableReport, now_ms: int, zone: str) -> list[Json]:
    return [_item(report, at, planned, now_ms, zone) for at, planned in enumerate(report.planned)]


def _item(report: TableReport, at: int, planned: Planned, now_ms: int, zone: str) -> Json:
    item = planned.item
    return {
        "line": item.line,
        "schedule": shown(item.schedule),
        "user": item.user,
        "command": shown(item.command),
        "stdin": None if item.stdin is None else shown(item.stdin),
        "env": {shown(name): shown(value) for name, value in item.env.items()},
        "table": report.path,
        "mapped": planned.problem is None,
        "problem": None if planned.problem is None else shown(planned.problem),
        "notes": [shown(note) for note in planned.notes],
        "name": report.imported.get(at) or (planned.name if planned.draft else None),
        "imported_as": report.imported.get(at),
        "active_in": report.active.get(at),
        "next": next_fires(planned, now_ms, zone),
    }


def next_fires(planned: Planned, now_ms: int, zone: str) -> list[Json]:
    """The next fires of a mapped line in its own zone."""
    draft = planned.draft
    if draft is None or "cron" not in draft["schedule"]:
        return []
    from itertools import islice

    from jobctl.schedule import Cron, local_fire

    cron = Cron(draft["schedule"]["cron"], draft["schedule"].get("timezone", zone))
    fires = (local_fire(fire, cron.tz) for fire in islice(cron.fires(now_ms, None), FIRES))
    return [
        {"at": utc(fire.at_ms), "local": fire.local, "zone": fire.abbreviation, "note": fire.note} for fire in fires
    ]


def utc(at_ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at_ms // 1000, UTC).isoformat().replace("+00:00", "Z")


def remarks(report: TableReport) -> list[str]:
    """What a person should know of the table as a whole."""
    names = {env.name: env.value for env in report.crontab.env}
    said = []
    said += [
        f"MAILTO={shown(mailto)} is no address: what is printed by the lines below it is mailed to nobody, as with cron"
        for mailto in dict.fromkeys(env.value for env in report.crontab.env if env.name == "MAILTO")
        if mailto and not may_get_mail(mailto)
    ]
    said += [
        f"RANDOM_DELAY: each start of {_lines(numbers)} is put off by up to {minutes} min, as cronie does it; "
        "Debian's cron would start them at once"
        for minutes, numbers in _delays(report).items()
    ]
    if any(item.env.get("RANDOM_DELAY") and not item.random_delay for item in report.crontab.items):
        said.append("RANDOM_DELAY is kept as a variable and delays no start, as with Debian's cron")
    if "TZ" in names:
        said.append("TZ is a variable of the commands, it does not move any schedule")
    said += [
        f"CRON_TZ: the times of {_lines(numbers)} are of {shown(zone)}; Debian's cron would take the host's zone"
        for zone, numbers in _zones(report).items()
    ]
    if any(item.env.get("CRON_TZ") and item.zone is None for item in report.crontab.items):
        said.append("CRON_TZ is kept as a variable and moves no schedule, as with Debian's cron")
    if "LOGNAME" in names:
        said.append("LOGNAME is always the user's name, as with cron: the assignment is left out")
    return said


def _zones(report: TableReport) -> dict[str, list[int]]:
    """Zones that lines are read in, and their lines; of those that become no job their problem says enough."""
    found: dict[str, list[int]] = {}
    for planned in report.planned:
        if planned.item.zone and planned.problem is None:
            found.setdefault(planned.item.zone, []).append(planned.item.line)
    return found


def _delays(report: TableReport) -> dict[int, list[int]]:
    """Delays in minutes, and the lines that have them."""
    found: dict[int, list[int]] = {}
    for planned in report.planned:
        if planned.item.random_delay and planned.problem is None:
            found.setdefault(planned.item.random_delay, []).append(planned.item.line)
    return found


def _lines(numbers: Sequence[int]) -> str:
    """`line 3`, `lines 3 to 5`, `lines 3, 5 and 9`."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    if list(numbers) == list(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 2:
        return f"lines {numbers[0]} to {numbers[-1]}"
    return f"lines {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
