"""`jobctl import crontab --system`: this host's tables go from cron to the system daemon as they stand."""

import os
from typing import Any

from jobctl.cli.asking import confirm
from jobctl.cli.imported import count, cron_words, show_host, show_tables, warnings
from jobctl.cli.importing import handover_of, jobs_if_any, new_record, state_dir
from jobctl.cli.session import Session
from jobctl.errors import Conflict, DaemonError, InvalidInput, NotFound
from jobctl.reading.safe import cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobctl.client.sync import Client
    from jobctl.crontabs.report import TableReport
    from jobctl.crontabs.survey import Wishes

Json = dict[str, Any]


class HostImport:
    """One takeover of a host, from the report to the last step."""

    def __init__(self, session: Session, wishes: "Wishes") -> None:
        self._session = session
        self._wishes = wishes
        self._reports: list[TableReport] = []

    def report(self) -> "list[TableReport]":
        value = self._value(jobs_if_any(self._session), _live(self._session.reader()))
        self._print(value)
        if not self._session.render.machine:
            self._session.render.word("nothing was changed: --apply does it")
        return self._reports

    def apply(self, *, yes: bool, force: bool) -> "list[TableReport]":
        from jobctl.crontabs.record import Records

        session = self._session
        if not yes and not session.world.interactive():
            raise InvalidInput("this takes over every crontab of the host, and there is nobody to ask", "say --yes")
        client = session.writer()
        records = Records(state_dir(session))
        with records.locked():
            handover = handover_of(session, client, records)
            for record in handover.unfinished():
                handover.finish(record)
                session.render.word(f"finished import {record.id}, which had been cut short")
            value = self._value(list(client.jobs(done=True)), _live(client))
            if self._is_done(value):
                value["applied"] = _applied(None, None, [], {})
            else:
                _check(client, force=force)
                if not yes:
                    self._ask(value)
                record = new_record(session)
                handed = handover.begin(record)
                since = record.host.since if record.host is not None else None
                value["applied"] = _applied(record.id, since, handed.steps, handed.tables)
        self._print(value)
        return self._reports

    def _value(self, jobs: list[Json], live: bool | None) -> Json:
        from jobctl.crontabs.against_cron import as_rows, differences
        from jobctl.crontabs.crond import find
        from jobctl.crontabs.host import periodic, summary
        from jobctl.crontabs.live import anacrontab, host_tables, script_folders
        from jobctl.crontabs.parts_folder import anacron_of
        from jobctl.crontabs.report import as_json
        from jobctl.crontabs.survey import survey
        from jobctl.schedule import host_zone

        world = self._session.world
        now_ms, (zone, found_in) = world.clock.now_ms(), host_zone()
        self._reports = survey(host_tables(world.environ, self._wishes.caller, world.uid), self._wishes, jobs)
        found = differences(self._reports, now_ms, zone, takes_over=True)
        nameless = found_in.startswith("default") and os.path.exists("/etc/localtime")
        return {
            **as_json(self._reports, now_ms, zone),
            "differences": as_rows(found),
            "host": summary(self._reports, found, find(world.environ), live=live, nameless_zone=nameless),
            "periodic": periodic(self._reports, anacrontab(), script_folders(), anacron_of()),
        }

    @staticmethod
    def _is_done(value: Json) -> bool:
        host = value["host"]
        cron = host["cron"]
        return bool(host["live"] and not cron["processes"] and not any(one["enabled"] for one in cron["services"]))

    def _ask(self, value: Json) -> None:
        host = value["host"]
        for text in warnings(value):
            self._session.render.word(text)
        self._session.render.word(f"cron: {cron_words(host['cron'])}")
        tables = f"{host['tables']} {'table' if host['tables'] == 1 else 'tables'}"
        question = f"stop cron, and have jobd run the {tables} of this host, {count(host['jobs'])}"
        confirm(self._session, question, "takes over every crontab of the host", "changed")

    def _print(self, value: Json) -> None:
        render = self._session.render
        if render.output == "json":
            render.json(value)
            return
        render.listing(
            value["items"],
            name=lambda item: str(item["name"] or f"line-{item['line']}"),
            fields=("table", "line", "schedule", "user", "command", "stdin", "name", "problem"),
            show=lambda items: self._show(items, value),
        )
        applied = value.get("applied")
        if applied is None or render.machine:
            return
        if applied["import"] is None:
            render.word("nothing to do: jobd runs the tables of this host, and cron does not")
            return
        jobs = sum(int(table["jobs"]) for table in applied["tables"])
        render.word(f"jobd runs {len(applied['tables'])} tables, {count(jobs)}; see jobctl status, jobctl ls")
        for table in applied["tables"]:
            if table["problems"]:
                refused = len(table["problems"])
                words = f"{refused} {'problem' if refused == 1 else 'problems'}, the first: "
                render.word(f"{cell(table['path'])}: {words}{cell(table['problems'][0]['reason'])}")
        render.word(f"undo it with: jobctl import crontab --rollback {applied['import']}")

    def _show(self, items: list[Json], value: Json) -> None:
        show_tables(self._session, self._reports, items, "host")
        show_host(self._session, value)


def _live(client: "Client") -> bool | None:
    """Whether the daemon runs the host's tables; None when none answers."""
    try:
        return bool(client.crontabs()["live"])
    except NotFound:
        return None
    except DaemonError:
        return None


def _check(client: "Client", *, force: bool) -> None:
    """Before cron is stopped: the daemon can take work, and will be there after a boot."""
    client.ready()
    status = client.status()
    why = str(status["returns_after_reboot_why"] or "nothing starts it")
    again = "./install.sh, on a host with systemd or an init; or say --force where something else starts jobd"
    if force:
        return
    if not status["returns_after_reboot"]:
        raise Conflict(f"after the next boot neither cron nor jobd would run: {why}", again)
    if why.startswith("cron "):
        raise Conflict(f"at boot it is cron that starts jobd, and cron is to be stopped: {why}", again)


def _applied(ident: str | None, since: str | None, steps: list[str], tables: Json) -> Json:
    """In the shape of every import, and what was done to the host."""
    return {
        "import": ident,
        "created": [],
        "paused": [],
        "commented": 0,
        "missing": [],
        "live": True,
        "since": since,
        "steps": steps,
        "tables": tables.get("items", []),
    }
