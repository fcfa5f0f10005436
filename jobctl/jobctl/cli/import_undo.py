"""`jobctl import crontab --rollback`: lines go back and their jobs go away, or cron runs the host again."""

from typing import Any

from jobctl.cli.ending import Ended, How
from jobctl.cli.importing import handover_of, state_dir, takeover_of
from jobctl.cli.session import Session
from jobctl.errors import Conflict, DaemonError
from jobctl.reading.safe import cell


def roll_back(session: Session, ident: str | None, *, force: bool) -> None:
    """Undo the last import or the one named. `force`: a host goes back to cron also when jobd does not answer."""
    from jobctl.crontabs.record import Records

    records = Records(state_dir(session))
    with records.locked():
        record = records.find(ident)
        if record.state == "rolled back":
            raise Conflict(f"import {record.id} is undone already", "see jobctl ls")
        if record.host is not None:
            _give_back_the_host(session, records, record.id, force=force)
            return
        outcome = takeover_of(session, session.writer(), records).undo(record)
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


def _give_back_the_host(session: Session, records: Any, ident: str, *, force: bool) -> None:
    render = session.render
    try:
        handed = handover_of(session, session.writer(), records).undo()
    except DaemonError as error:
        if not force:
            raise type(error)(
                f"{error.message}: cron was left as it is",
                "start jobd, then again; or with --force, which starts cron without it",
                details=error.details,
            ) from error
        handed = handover_of(session, session.reader(), records).cron_again()
        render.word("jobd would run the tables as well when it is back: then undo this again")
    if render.machine:
        render.json({"schema": 1, "import": ident, "removed": [], "missing": [], "steps": handed.steps})
