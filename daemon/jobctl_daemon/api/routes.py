"""The one table of routes, and finding the one that a path means."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from aiohttp.web_response import StreamResponse

from jobctl_daemon.api import (
    add,
    apply,
    backup,
    cancel,
    crontab,
    daemon,
    daemon_log,
    dead,
    discard,
    doctor,
    durations,
    edit,
    events,
    health,
    import_,
    log,
    log_times,
    ls,
    next,  # noqa: A004  the verb is called so
    owners,
    pause,
    queues,
    replay,
    resume,
    retry,
    rm,
    run,
    runs,
    show,
    skip,
    status,
    tables,
    upcoming,
    why,
    windows,
)
from jobctl_daemon.api.call import Call

Verb = Callable[[Call], Awaitable[StreamResponse]]


@dataclass(frozen=True, slots=True)
class Route:
    """A method on a path; `{}` in the path stands for one segment."""

    method: str
    path: str
    verb: Verb
    any_protocol: bool = False
    """Answered whatever protocol the caller speaks: what is needed to get out of a mismatch."""


ROUTES: Final = (
    Route("POST", "/v1/jobs", add.add),
    Route("GET", "/v1/jobs", ls.ls),
    Route("POST", "/v1/jobs/import", import_.import_),
    Route("GET", "/v1/jobs/window", windows.jobs),
    Route("GET", "/v1/jobs/{}", show.job),
    Route("PATCH", "/v1/jobs/{}", edit.edit),
    Route("DELETE", "/v1/jobs/{}", rm.rm),
    Route("POST", "/v1/jobs/{}/pause", pause.job),
    Route("POST", "/v1/jobs/{}/resume", resume.job),
    Route("POST", "/v1/jobs/{}/skip", skip.skip),
    Route("POST", "/v1/jobs/{}/runs", run.trigger),
    Route("GET", "/v1/jobs/{}/runs", runs.of_job),
    Route("GET", "/v1/jobs/{}/ledger", why.ledger),
    Route("GET", "/v1/jobs/{}/next", next.of_job),
    Route("GET", "/v1/jobs/{}/durations", durations.durations),
    Route("GET", "/v1/upcoming", upcoming.upcoming),
    Route("POST", "/v1/apply", apply.apply),
    Route("POST", "/v1/runs", run.adhoc),
    Route("GET", "/v1/runs", runs.runs),
    Route("GET", "/v1/runs/window", windows.runs),
    Route("GET", "/v1/runs/{}", show.run),
    Route("GET", "/v1/runs/{}/work", show.work),
    Route("GET", "/v1/runs/{}/attempts", show.attempts),
    Route("POST", "/v1/runs/{}/cancel", cancel.cancel),
    Route("POST", "/v1/runs/{}/kill", cancel.kill),
    Route("POST", "/v1/runs/{}/retry", retry.retry),
    Route("GET", "/v1/runs/{}/log", log.log),
    Route("GET", "/v1/runs/{}/log/times", log_times.times),
    Route("GET", "/v1/dead", dead.dead),
    Route("GET", "/v1/dead/groups", dead.groups),
    Route("POST", "/v1/dead/replay", replay.replay),
    Route("POST", "/v1/dead/discard", discard.discard),
    Route("GET", "/v1/queues", queues.queues),
    Route("PUT", "/v1/queues/{}", queues.put),
    Route("POST", "/v1/queues/{}/pause", pause.queue),
    Route("POST", "/v1/queues/{}/resume", resume.queue),
    Route("GET", "/v1/crontab", crontab.get),
    Route("PUT", "/v1/crontab", crontab.put),
    Route("DELETE", "/v1/crontab", crontab.delete),
    Route("GET", "/v1/crontabs", tables.crontabs),
    Route("POST", "/v1/crontabs/live", tables.live),
    Route("GET", "/v1/owners", owners.owners),
    Route("POST", "/v1/owners/{}/rename", owners.rename),
    Route("GET", "/v1/events", events.events),
    Route("POST", "/v1/schedule/preview", next.preview),
    Route("GET", "/v1/status", status.status, any_protocol=True),
    Route("GET", "/v1/health/live", health.live),
    Route("GET", "/v1/health/ready", health.ready),
    Route("GET", "/v1/doctor", doctor.doctor),
    Route("POST", "/v1/backup", backup.backup),
    Route("GET", "/v1/daemon/log", daemon_log.log),
    Route("POST", "/v1/daemon/pause", pause.daemon),
    Route("POST", "/v1/daemon/resume", resume.daemon),
    Route("POST", "/v1/daemon/stop", daemon.stop, any_protocol=True),
)


class _Node:
    """The routes that begin with the same segments."""

    __slots__ = ("methods", "named", "param")

    def __init__(self) -> None:
        self.named: dict[str, _Node] = {}
        self.param: _Node | None = None
        self.methods: dict[str, Route] = {}

    def at(self, segment: str) -> "_Node":
        """What comes after a segment of a route's path; made when it is not there."""
        if segment == "{}":
            self.param = self.param or _Node()
            return self.param
        return self.named.setdefault(segment, _Node())

    def share(self) -> None:
        """A segment with a name of its own may be a parameter as well: a job may be called `import`."""
        for child in self.named.values():
            if self.param is not None:
                child.methods = {**self.param.methods, **child.methods}
                child.named = {**self.param.named, **child.named}
            child.share()


def _tree() -> _Node:
    root = _Node()
    for route in ROUTES:
        node = root
        for segment in route.path.split("/")[1:]:
            node = node.at(segment)
        node.methods[route.method] = route
    root.share()
    return root


_TREE: Final = _tree()


def find(path: str) -> tuple[Mapping[str, Route] | None, list[str]]:
    """The methods of a path and its parameters as they stand there; None when there is nothing."""
    node, params = _TREE, []
    for segment in path.split("/")[1:]:
        if node.param is not None and segment:
            params.append(segment)
        following = node.named.get(segment) or (node.param if segment else None)
        if following is None:
            return None, []
        node = following
    return (node.methods, params) if node.methods else (None, [])
