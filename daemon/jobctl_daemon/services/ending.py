"""Recording results: read what the retry rule must know, decide, write under fence and state."""

from collections.abc import Sequence

from jobctl.states import RunState
from jobctl_daemon.decide.outcome import Result, judge
from jobctl_daemon.decide.retry import settle
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.rows import Verdict
from jobctl_daemon.store import Store

#: Enough of a log for its last line.
TAIL_BYTES = 4096


class Ending:
    """Shared by those who hear of ends: the runners' reports, starts that cannot be, attempts that are gone."""

    def __init__(self, store: Store, logs: LogFiles) -> None:
        self._store = store
        self._logs = logs

    async def record(self, results: Sequence[Result], now_ms: int) -> list[Verdict]:
        """An answer for each. Successes, which are nearly all, cost no read."""
        asked = [result.run_id for result in results if not _plain(result)]
        efforts = {effort.run_id: effort for effort in await self._store.efforts(asked)} if asked else {}
        rows = []
        for result in results:
            effort = efforts.get(result.run_id)
            if effort is not None and effort.fence != result.fence:
                effort = None
            tail = b"" if effort is None else self._logs.tail(result.run_id, result.fence, TAIL_BYTES)
            rows.append(settle(result, effort, tail, now_ms))
        return await self._store.finish(rows, now_ms)


def _plain(result: Result) -> bool:
    return judge(result).state is RunState.SUCCEEDED
