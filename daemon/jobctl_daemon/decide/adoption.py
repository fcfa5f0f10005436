"""After a start, or the death of a runner: what becomes of each claimed run (docs/architecture.md).

An attempt is lost only when no runner holds it *and* its process is gone; the runners find orphans by their records and
report them as held or ended. So a claimed run that no runner knows was never started: no intent, no attempt is burnt.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jobctl_daemon.rows import Claim, Running


@dataclass(frozen=True, slots=True)
class Plan:
    """Claims to give back, claims that belong to another boot, and stops that somebody asked for before."""

    unclaimed: tuple[Running, ...]
    lost: tuple[Running, ...]
    stops: tuple[Running, ...]
    unjudged: tuple[Running, ...] = ()
    """Unknown to those runners that have been heard; there are others."""


def plan(claimed: Iterable[Running], held: Mapping[str, str], boot_id: str, *, complete: bool = True) -> Plan:
    """`held` maps attempt ids to the runners' word for them: starting, running or ended.

    `complete` says that every living runner has told what it holds, and that what dead ones left was looked for. Else
    one of them may hold any attempt, and of those nobody knows nothing is said.
    """
    unclaimed, lost, stops, unjudged = [], [], [], []
    for run in claimed:
        attempt = attempt_id(run.run_id, run.fence)
        if attempt in held:
            if run.stop_wanted and held[attempt] != "ended":
                stops.append(run)
        elif not complete:
            unjudged.append(run)
        elif run.boot_id != boot_id:  # it may have been started: a power cut loses the records as well
            lost.append(run)
        else:
            unclaimed.append(run)
    return Plan(tuple(unclaimed), tuple(lost), tuple(stops), tuple(unjudged))


def in_order(claims: Sequence[Claim]) -> Sequence[Claim]:
    """How claims are handed over: those that came back from a dead daemon last, and from either end in turn.

    If one of them is what kills the daemon, all the others have been handed over by the end of its second next life,
    and none of them is taken for it.
    """
    returned = [claim for claim in claims if claim.returns]
    if not returned:
        return claims
    if max(claim.returns for claim in returned) % 2 == 0:
        returned.reverse()
    return [claim for claim in claims if not claim.returns] + returned


def attempt_id(run_id: int, fence: int) -> str:
    """The name of one attempt between jobd and its runners, and of its files."""
    return f"{run_id}-{fence}"
