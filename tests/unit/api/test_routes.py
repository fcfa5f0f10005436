"""The table of routes is what docs/api.md says, and every path finds its verb."""

import re
from pathlib import Path

import pytest

from jobctl_daemon.api.routes import ROUTES, find

DOCS = Path(__file__).parents[3] / "docs" / "api.md"


def documented() -> set[tuple[str, str]]:
    """(method, path) of each row of the table; `{id}` and `{name}` as in the code."""
    found = re.findall(r"`(GET|POST|DELETE|PATCH|PUT) (/v1/[^` ?]*)", DOCS.read_text(encoding="utf-8"))
    return {(method, re.sub(r"{\w+}", "{}", path)) for method, path in found}


def test_the_documentation_has_every_route_and_no_other() -> None:
    assert documented() == {(route.method, route.path) for route in ROUTES}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_path_finds_its_route(route: object) -> None:
    from jobctl_daemon.api.routes import Route

    assert isinstance(route, Route)
    methods, params = find(route.path.replace("{}", "x%2Fy"))
    assert methods is not None
    assert methods[route.method] is route
    own = ("/v1/jobs/import", "/v1/jobs/window", "/v1/runs/window")
    assert params == ["x%2Fy"] * route.path.count("{}") or route.path in own


def test_a_job_that_is_called_import_is_reached_too() -> None:
    methods, params = find("/v1/jobs/import")
    assert methods is not None
    assert {method: route.path for method, route in methods.items()} == {
        "POST": "/v1/jobs/import",
        "GET": "/v1/jobs/{}",
        "PATCH": "/v1/jobs/{}",
        "DELETE": "/v1/jobs/{}",
    }
    assert params == ["import"]
    pause, params = find("/v1/jobs/import/pause")
    assert pause is not None
    assert params == ["import"]


def test_a_job_that_is_called_window_is_reached_by_other_bytes() -> None:
    methods, params = find("/v1/jobs/%77indow")
    assert methods is not None
    assert (methods["GET"].path, params) == ("/v1/jobs/{}", ["%77indow"])
    for method, path in (
        ("PATCH", "/v1/jobs/window"),
        ("POST", "/v1/jobs/window/pause"),
        ("GET", "/v1/jobs/window/runs"),
    ):
        methods, params = find(path)
        assert methods is not None
        assert method in methods
        assert params == ["window"]


@pytest.mark.parametrize(
    "path", ["", "/", "v1/jobs", "/v1/jobs/", "/v1/jobs/x/", "//v1/jobs", "/V1/jobs", "/v1/jobs/x/y/z"]
)
def test_other_paths_lead_nowhere(path: str) -> None:
    assert find(path) == (None, [])


def test_every_verb_has_a_file_of_its_own_name() -> None:
    for route in ROUTES:
        module = route.verb.__module__.rpartition(".")[2]
        folder = DOCS.parents[1] / "daemon" / "jobctl_daemon" / "api"
        assert (folder / f"{module}.py").exists()
