"""Jobs that a file owns, over the socket: shown as such, not edited nor removed by hand, held and run as any other."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from jobctl_daemon.rows import Declaration, NewDeclared
from kit.stores import spec
from unit.api.world import NOW_MS, World, world

FILE = "/etc/cron.d/site"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def declared(api: World, name: str = "greet") -> None:
    made = msgspec.structs.replace(spec(name), declared=FILE, source=f"crontab:abc:3:{FILE}")
    new = NewDeclared(spec=made, next_ms=NOW_MS + 60_000, handled_ms=NOW_MS)
    await api.store.declare(api.owner, Declaration(path=FILE, created=(new,)), NOW_MS)


@pytest.mark.parametrize(
    ("method", "path", "body", "word"),
    [
        ("PATCH", "/v1/jobs/greet", {"note": "x"}, "edited"),
        ("PATCH", "/v1/jobs/greet?dry_run=1", {"note": "x"}, "edited"),
        ("DELETE", "/v1/jobs/greet", None, "removed"),
        ("DELETE", "/v1/jobs/greet?runs=cancel", None, "removed"),
    ],
)
async def test_by_hand_it_is_refused_with_the_file(api: World, method: str, path: str, body: object, word: str) -> None:
    await declared(api)
    answer = await api.ask(method, path, body)
    assert answer.status == 409
    problem = answer.json
    assert problem["detail"] == f"greet comes from line 3 of {FILE} and cannot be {word} by hand"
    assert (problem["hint"], problem["declared"]) == ("change it there; `jobctl pause greet` holds it", FILE)
    assert (await api.ask("GET", "/v1/jobs/greet")).json["rev"] == 1


async def test_a_table_of_ones_own_is_changed_with_crontab(api: World) -> None:
    table = f"/var/spool/cron/crontabs/{api.owner.name}"
    made = msgspec.structs.replace(spec("greet"), declared=table, source=f"crontab:abc:3:{table}")
    new = NewDeclared(spec=made, next_ms=NOW_MS + 60_000, handled_ms=NOW_MS)
    await api.store.declare(api.owner, Declaration(path=table, created=(new,)), NOW_MS)
    problem = (await api.ask("DELETE", "/v1/jobs/greet")).json
    assert problem["hint"] == "change it with `jobctl crontab -e`; `jobctl pause greet` holds it"


async def test_it_is_held_let_go_skipped_and_run_by_hand(api: World) -> None:
    await declared(api)
    for verb in ("pause", "resume", "skip"):
        assert (await api.ask("POST", f"/v1/jobs/greet/{verb}")).status == 200, verb
    assert (await api.ask("POST", "/v1/jobs/greet/runs")).status == 201


async def test_it_is_shown_with_its_file_and_found_by_it(api: World) -> None:
    await declared(api)
    await api.add(name="by-hand")
    shown = (await api.ask("GET", "/v1/jobs/greet")).json
    assert (shown["declared"], shown["source"]) == (FILE, f"crontab:abc:3:{FILE}")
    listed = (await api.ask("GET", f"/v1/jobs?declared={FILE}")).json["items"]
    assert [job["name"] for job in listed] == ["greet"]
    assert (await api.ask("GET", "/v1/jobs/by-hand")).json["declared"] is None
