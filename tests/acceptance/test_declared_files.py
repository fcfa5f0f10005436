"""Files of jobs as the truth: saved in every way, half written, broken, removed; applied, compared, written out."""

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.errors import Conflict
from kit.daemon import Json, RealDaemon, real_daemon

pytestmark = pytest.mark.long

#: A saved file is active after 3 s (F110); other tests run beside this one.
SOON_S = 5.0
PIECE = 4096


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """One for all tests; each has files of its own."""
    home = tmp_path_factory.mktemp("files") / "h"
    (home / "config" / "jobs.d").mkdir(parents=True)
    with real_daemon(home) as made:
        yield made


@pytest.fixture
def daemon(shared: RealDaemon) -> Iterator[RealDaemon]:
    yield shared.up()
    for path in folder(shared).iterdir():
        path.unlink()
    shared.client.apply_folder()
    for path in {job["declared"] for job in shared.client.jobs(done=True)} - {None}:
        shared.client.apply(path, [], prune=True)
    for job in shared.client.jobs(done=True):
        shared.client.delete_job(job["id"])


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RealDaemon]:
    """One for a test that takes its folder away."""
    (tmp_path / "h" / "config" / "jobs.d").mkdir(parents=True)
    with real_daemon(tmp_path / "h") as made:
        yield made


def folder(daemon: RealDaemon) -> Path:
    return daemon.home / "config" / "jobs.d"


def jobs(daemon: RealDaemon, path: Path | None = None) -> dict[str, Json]:
    filters = {} if path is None else {"declared": str(path)}
    return {job["name"]: job for job in daemon.client.jobs(done=True, **filters) if job["declared"]}


def notes(daemon: RealDaemon, path: Path) -> set[Any]:
    return {job["note"] for job in jobs(daemon, path).values()}


def soon(daemon: RealDaemon, holds: Callable[[], Any], within_s: float = SOON_S) -> Any:
    began = time.monotonic()
    found = daemon.until(holds)
    assert time.monotonic() - began < within_s
    return found


def events(daemon: RealDaemon, since: int, *kinds: str) -> list[Json]:
    found = (json.loads(message.data) for message in daemon.client.events(after=since) if message.data)
    return [one for one in found if one.get("kind") in kinds]


def job(name: str, note: str = "", more: str = "") -> str:
    return f'[job."{name}"]\ncron = "0 3 1 1 *"\nshell = "true"\nnote = "{note}"\n{more}\n'


def many(prefix: str, note: str, count: int = 200) -> str:
    return "".join(job(f"{prefix}{number}", note) for number in range(count))


def save(path: Path, text: str) -> Path:
    """As editors do: a new file in the place of the old one."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text)
    draft.rename(path)
    return path


def pause(seconds: float) -> None:
    """Of a writer that takes its time."""
    select.select([], [], [], seconds)


def table(daemon: RealDaemon, path: Path) -> Json:
    return next(one for one in daemon.client.status()["tables"] if one["path"] == str(path))


def problems(daemon: RealDaemon, path: Path) -> list[Json]:
    """What is wrong with a file, now."""
    answer = daemon.client.apply_folder()
    told: list[Json] = next(file["problems"] for file in answer["files"] if file["path"] == str(path))
    assert told == table(daemon, path)["problems"]
    return told


# ── saved in every way ──────────────────────────────────────────────


def _rename(path: Path, text: str, tmp: Path) -> None:
    save(path, text)


def _over(path: Path, text: str, tmp: Path) -> None:
    path.write_text(text)


def _copied(path: Path, text: str, tmp: Path) -> None:
    (tmp / "from").write_text(text)
    subprocess.run(["cp", tmp / "from", path], check=True)


def _sed(path: Path, text: str, tmp: Path) -> None:
    new = text.split('note = "')[1].split('"')[0]
    subprocess.run(["sed", "-i", f's/note = "[^"]*"/note = "{new}"/', path], check=True)


def _anew(path: Path, text: str, tmp: Path) -> None:
    path.unlink()
    pause(0.5)
    path.write_text(text)


def _linked(path: Path, text: str, tmp: Path) -> None:
    """As a ConfigMap of Kubernetes: the file is a link through a link that is swapped."""
    version = tmp / f"v{text.split('note = ')[1][:4]}"
    version.mkdir()
    (version / path.name).write_text(text)
    (tmp / "..draft").symlink_to(version)
    (tmp / "..draft").rename(tmp / "..data")
    if not path.is_symlink():
        path.unlink()
        path.symlink_to(tmp / "..data" / path.name)


def _checked_out(path: Path, text: str, tmp: Path) -> None:
    def git(*words: str) -> None:
        where = ["-C", str(path.parent), "--git-dir", str(tmp / "git"), "--work-tree", str(path.parent)]
        who = ["-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "safe.directory=*"]
        subprocess.run(["git", *where, *who, *words], check=True, capture_output=True)

    was = path.read_text()
    if not (tmp / "git").exists():
        git("init", "-q")
        git("add", path.name)
        git("commit", "-q", "-m", "one")
    save(path.with_name("aside"), text)
    os.rename(path.with_name("aside"), tmp / "next")
    path.write_text((tmp / "next").read_text())
    git("commit", "-q", "-a", "-m", "two")
    path.write_text(was)
    git("checkout", "-q", "-f", "HEAD", "--", path.name)


WAYS = (_rename, _over, _copied, _sed, _anew, _linked, _checked_out)


@pytest.mark.case("F110")
@pytest.mark.parametrize("way", WAYS)
def test_each_save_is_active_soon_and_never_without_jobs(
    daemon: RealDaemon, tmp_path: Path, way: Callable[[Path, str, Path], None]
) -> None:
    path = save(folder(daemon) / "web.toml", job("web", "0"))
    soon(daemon, lambda: notes(daemon, path) == {"0"})
    before, since = jobs(daemon, path)["web"], daemon.client.status()["last_event"]
    for number in range(1, 4):
        way(path, job("web", str(number)), tmp_path)
        soon(daemon, lambda number=number: notes(daemon, path) == {str(number)})
    after = jobs(daemon, path)["web"]
    assert (after["id"], after["next_run_at"]) == (before["id"], before["next_run_at"])
    assert not events(daemon, since, "job.deleted", "job.created")
    assert len(events(daemon, since, "job.edited")) == 3


@pytest.mark.case("F112")
def test_a_file_that_is_written_in_pieces_is_taken_when_it_is_whole(daemon: RealDaemon) -> None:
    path = save(folder(daemon) / "many.toml", many("m", "old"))
    soon(daemon, lambda: len(jobs(daemon, path)) == 200, 10)
    since = daemon.client.status()["last_event"]
    data = many("m", "new").encode()
    with path.open("wb", buffering=0) as file:
        for at in range(0, len(data), PIECE):
            file.write(data[at : at + PIECE])
            daemon.reload()
            assert len(jobs(daemon, path)) == 200
            pause(0.1)
    soon(daemon, lambda: notes(daemon, path) == {"new"}, 10)
    assert not events(daemon, since, "job.deleted", "job.created")


@pytest.mark.case("F112")
def test_a_broken_file_changes_nothing_but_its_own_error(daemon: RealDaemon) -> None:
    path = save(folder(daemon) / "many.toml", many("m", "old"))
    other = save(folder(daemon) / "other.toml", job("other", "1"))
    soon(daemon, lambda: len(jobs(daemon)) == 201, 10)
    lines = many("m", "new").splitlines()
    lines[149] = "cron = 0 3 * * *"
    save(path, "\n".join(lines) + "\n")
    save(other, job("other", "2"))
    (told,) = problems(daemon, path)
    assert (told["line"], told["column"], told["text"]) == (150, 8, "cron = 0 3 * * *")
    assert told["reason"] == 'texts are in quotes – write cron = "0 3 * * *"; its jobs stay as they are'
    assert (notes(daemon, path), notes(daemon, other)) == ({"old"}, {"2"})
    assert table(daemon, path)["jobs"] == 200
    daemon.restart()  # the last good version is in the database
    (again,) = table(daemon, path)["problems"]
    assert again == told
    assert (notes(daemon, path), len(jobs(daemon, path))) == ({"old"}, 200)
    done = daemon.jobctl("apply")
    assert done.returncode == 1
    assert "150:8: texts are in quotes" in done.stdout
    assert f"{path}" in daemon.jobctl("status").stdout
    save(path, many("m", "new"))
    soon(daemon, lambda: notes(daemon, path) == {"new"}, 10)
    assert table(daemon, path)["problems"] == []


@pytest.mark.case("F112")
@pytest.mark.parametrize("text", ["", "# nobody\n", "version = 1\n"])
def test_a_file_without_jobs_has_none(daemon: RealDaemon, text: str) -> None:
    path = save(folder(daemon) / "web.toml", job("a") + job("b"))
    soon(daemon, lambda: len(jobs(daemon, path)) == 2)
    path.write_text(text)
    soon(daemon, lambda: not jobs(daemon, path))


@pytest.mark.case("F112")
def test_a_removed_file_takes_its_jobs_with_it_and_no_other(daemon: RealDaemon) -> None:
    path, other = (save(folder(daemon) / f"{name}.toml", job(name)) for name in ("a", "b"))
    soon(daemon, lambda: len(jobs(daemon)) == 2)
    path.unlink()
    soon(daemon, lambda: set(jobs(daemon)) == {"b"})
    daemon.kill9()
    other.unlink()
    daemon.start()
    assert not jobs(daemon)


@pytest.mark.case("F112")
def test_a_folder_that_is_gone_or_another_one_takes_no_job_with_it(own: RealDaemon) -> None:
    path = save(folder(own) / "a.toml", job("a", "1"))
    soon(own, lambda: jobs(own))
    aside = own.home / "aside"
    folder(own).rename(aside)
    own.restart()
    assert "is not there: if that is meant, say so: jobctl apply" in table(own, path)["problems"][0]["reason"]
    assert set(jobs(own)) == {"a"}
    folder(own).mkdir()  # as an empty place where nothing is mounted any more
    assert set(jobs(own)) == {"a"}
    own.restart()
    assert set(jobs(own)) == {"a"}
    assert "another folder than before" in table(own, path)["problems"][0]["reason"]
    folder(own).rmdir()
    aside.rename(folder(own))
    save(path, job("a", "2"))
    soon(own, lambda: notes(own, path) == {"2"})
    shutil.rmtree(folder(own))
    folder(own).mkdir()
    assert own.jobctl("apply").returncode == 0  # it is meant so
    assert not jobs(own)
    save(folder(own) / "a.toml", job("a", "1"))
    soon(own, lambda: jobs(own))
    shutil.rmtree(folder(own))
    assert own.jobctl("apply").returncode == 0
    assert not jobs(own)
    folder(own).mkdir()


def test_a_file_that_somebody_else_can_write_is_not_read(daemon: RealDaemon) -> None:
    path = folder(daemon) / "open.toml"
    path.write_text(job("open"))
    path.chmod(0o666)
    (told,) = problems(daemon, path)
    assert "the mode 0666: others than its owner may write it: chmod" in told["reason"]
    if os.geteuid() == 0:
        path.chmod(0o644)
        os.chown(path, 12345, 0)
        assert "belongs to uid 12345, not to root" in problems(daemon, path)[0]["reason"]
        os.chown(path, 0, 0)
    path.chmod(0o600)
    soon(daemon, lambda: jobs(daemon, path))
    folder(daemon).chmod(0o777)
    try:
        assert daemon.client.apply_folder()["files"]
        assert any("no file is read" in text for text in daemon.client.status()["warnings"])
        assert set(jobs(daemon, path)) == {"open"}
    finally:
        folder(daemon).chmod(0o755)


# ── what stands in the way of one another ──────────────────────────────────────────────


def test_a_name_that_is_taken_is_free_when_its_holder_goes(daemon: RealDaemon) -> None:
    daemon.add("web", "true")
    path = save(folder(daemon) / "web.toml", job("web") + job("other"))
    (told,) = problems(daemon, path)
    assert (told["line"], told["column"]) == (1, 6)
    assert "there is a job web already: it was made by hand – choose another name, remove it, " in told["reason"]
    assert "or let the file have it: jobctl apply --adopt; its jobs stay as they are" in told["reason"]
    assert not jobs(daemon, path)
    made = daemon.client.job("web")["id"]
    assert "adopted  web" in daemon.jobctl("apply", "--adopt").stdout
    assert {name: one["id"] == made for name, one in jobs(daemon, path).items()} == {"web": True, "other": False}
    path.write_text("")
    soon(daemon, lambda: not jobs(daemon))
    daemon.add("web", "true")
    save(path, job("web") + job("other"))
    assert problems(daemon, path)
    daemon.client.delete_job("web")
    assert problems(daemon, path) == []
    assert set(jobs(daemon, path)) == {"web", "other"}
    # A job that moves to another file in one go: it is the same, and so nothing has happened to it.
    moving = jobs(daemon, path)["web"]["id"]
    second = save(folder(daemon) / "a.toml", job("web"))
    save(path, job("other"))
    assert "would be adopted" in daemon.jobctl("apply", "--dry-run").stdout
    assert problems(daemon, second) == []
    assert {name: one["id"] for name, one in jobs(daemon, second).items()} == {"web": moving}
    assert set(jobs(daemon, path)) == {"other"}


def test_what_a_dry_run_says_of_a_mistake_is_what_the_apply_says(daemon: RealDaemon) -> None:
    save(folder(daemon) / "a.toml", job("a") + job("web"))
    daemon.add("web", "true")
    for words in (("--dry-run",), ()):
        done = daemon.jobctl("apply", *words)
        assert (done.returncode, "a.toml: 1 mistake" in done.stdout) == (1, True), done.stdout + done.stderr
    daemon.client.delete_job("web")
    for words in (("--dry-run",), ()):
        assert daemon.jobctl("apply", *words).returncode == 0


def test_jobs_come_after_others_of_the_same_file_and_of_other_files(daemon: RealDaemon) -> None:
    after = job("last").replace('cron = "0 3 1 1 *"', 'after = "middle:any"')
    middle = job("middle").replace('cron = "0 3 1 1 *"', 'after = "first"')
    path = save(folder(daemon) / "a.toml", after + middle + job("first"))
    save(folder(daemon) / "0.toml", job("elsewhere").replace('cron = "0 3 1 1 *"', 'after = "last:failure"'))
    soon(daemon, lambda: len(jobs(daemon)) == 4, 10)
    plans = {name: one["schedule"]["after"] for name, one in jobs(daemon).items()}
    assert plans == {"last": "middle:any", "middle": "first:success", "first": None, "elsewhere": "last:failure"}
    daemon.finished(daemon.triggered("first"))
    daemon.until(lambda: daemon.runs_of("last", state="succeeded"))
    save(path, after.replace('"middle:any"', '"new"') + middle + job("first") + job("new"))
    soon(daemon, lambda: jobs(daemon)["last"]["schedule"]["after"] == "new:success")


def test_a_job_of_a_file_is_held_and_run_by_hand_but_changed_there(daemon: RealDaemon) -> None:
    path = save(folder(daemon) / "web.toml", job("web"))
    soon(daemon, lambda: jobs(daemon, path))
    for words in (["edit", "web", "--note", "x", "--yes"], ["rm", "web", "--yes"], ["edit", "web"]):
        done = daemon.jobctl(*words)
        assert done.returncode in (2, 5)
        assert str(path) in done.stderr or "terminal" in done.stderr
    with pytest.raises(Conflict, match=r"web\.toml"):
        daemon.client.edit_job("web", {"note": "x"})
    daemon.client.pause_job("web")
    save(path, job("web", "new"))
    soon(daemon, lambda: notes(daemon, path) == {"new"})
    assert jobs(daemon)["web"]["paused"]
    assert daemon.finished(daemon.triggered("web"))["state"] == "succeeded"
    assert str(path) in daemon.jobctl("show", "web").stdout
    assert str(path) in daemon.jobctl("ls", "-o", "wide").stdout


# ── files elsewhere ──────────────────────────────────────────────


def test_a_file_elsewhere_is_compared_applied_and_pruned(daemon: RealDaemon, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[job.a]\nevery = "1h"\nshell = "true"\ntimeout = "1m"\n[job.b]\nafter = "a"\nshell = "true"\n')
    before = daemon.jobctl("diff", str(path))
    assert before.returncode == 1
    assert f"{path}: 2 would be created\n+ a   would be created" in before.stdout
    assert "1 would be changed" not in daemon.jobctl("apply", "--dry-run", str(path)).stdout
    assert not jobs(daemon, path)
    assert daemon.jobctl("apply", str(path)).returncode == 0
    assert set(jobs(daemon, path)) == {"a", "b"}
    assert daemon.jobctl("diff", str(path)).returncode == 0
    path.write_text('[job.a]\nevery = "2h"\nshell = "true"\ntimeout = "2m"\n')
    shown = daemon.jobctl("diff", "--prune", str(path)).stdout
    assert "timeout       1m → 2m" in shown
    assert "every         1h → 2h" in shown
    assert "next, before" in shown
    assert "- b   would be removed" in shown
    left = daemon.jobctl("apply", str(path))
    assert "left     b" in left.stdout
    assert set(jobs(daemon, path)) == {"a", "b"}
    pruned = daemon.jobctl("apply", "--prune", "--json", str(path))
    assert '"removed"' in pruned.stdout
    assert set(jobs(daemon, path)) == {"a"}
    path.unlink()
    (tmp_path / "other.toml").write_text(job("c"))
    assert daemon.jobctl("apply", "--prune", str(tmp_path)).returncode == 0
    assert set(jobs(daemon, tmp_path / "other.toml")) == {"c"}
    assert not jobs(daemon, path)
    (tmp_path / "other.toml").write_text("")
    assert daemon.jobctl("apply", "--prune", str(tmp_path)).returncode == 0


@pytest.mark.case("F112")
@pytest.mark.parametrize("how", ["swap", "a to b", "b to a", "rename"])
@pytest.mark.parametrize("prune", [["--prune"], []])
def test_jobs_that_move_between_files_which_are_applied_together_go_along(
    daemon: RealDaemon, tmp_path: Path, how: str, prune: list[str]
) -> None:
    where = tmp_path / "jobs"
    where.mkdir()

    def write(**files: list[str]) -> None:
        for name, names in files.items():
            (where / f"{name}.toml").write_text("".join(job(one) for one in names))

    write(a=["x", "k"], b=["y"])
    assert daemon.jobctl("apply", str(where)).returncode == 0
    before = {name: one["id"] for name, one in jobs(daemon).items()}
    write(**{
        "swap": {"a": ["y", "k"], "b": ["x"]},
        "a to b": {"a": ["k"], "b": ["y", "x"]},
        "b to a": {"a": ["x", "k", "y"], "b": []},
        "rename": {"a": ["x", "k"], "c": ["y"]},
    }[how])  # fmt: skip
    if how == "rename":
        (where / "b.toml").unlink()
    moved = {"swap": {"x", "y"}, "a to b": {"x"}, "b to a": {"y"}, "rename": {"y"} if prune else set()}[how]
    plan = daemon.jobctl("apply", str(where), *prune, "--dry-run")
    done = daemon.jobctl("apply", str(where), *prune)
    if how == "rename" and not prune:  # a file that is gone was not named, and has its jobs as before
        assert (plan.returncode, done.returncode) == (2, 2)
        return
    assert (plan.returncode, done.returncode) == (0, 0), plan.stderr + done.stderr
    for shown, words in ((plan.stdout, "   would be adopted"), (done.stdout, "")):
        told = {line.split()[1] for line in shown.splitlines() if line.startswith(("~ ", "  adopted"))}
        assert (told, words in shown) == (moved, True)
        assert "removed" not in shown and "left" not in shown  # noqa: PT018
    assert {name: one["id"] for name, one in jobs(daemon).items()} == before
    assert "as before" not in daemon.jobctl("diff", str(where), *prune).stderr
    assert daemon.jobctl("diff", str(where), *prune).returncode == 0


def test_what_only_the_daemon_can_see_is_told_with_its_place_and_nothing_is_taken(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    daemon.add("taken", "true")
    path = tmp_path / "mine.toml"
    path.write_text('[job.new]\nshell = "true"\nafter = "nobody"\n[job.taken]\nshell = "true"\n')
    done = daemon.jobctl("apply", str(path))
    assert done.returncode == 2
    assert f"{path}:3:9: there is no job 'nobody' to come after" in done.stderr
    assert f"{path}:4:6: there is a job taken already: it was made by hand" in done.stderr
    assert not jobs(daemon, path)
    path.write_text("[job.a]\nshel = 'x'\n")
    done = daemon.jobctl("apply", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path}:2:1: unknown key `shel`" in done.stderr
    daemon.client.delete_job("taken")


def test_what_is_written_out_makes_the_same_jobs_elsewhere(daemon: RealDaemon, own: RealDaemon, tmp_path: Path) -> None:
    daemon.add("plain", ["/bin/echo", "a b", "ü\n"], schedule={"cron": "*/5 * * * *", "timezone": "Asia/Tokyo"})
    daemon.add("every", "true", schedule={"every": "90s", "jitter": "5s"}, overlap="queue", overlap_queue=3, grace=0)
    daemon.add("on boot", "true", schedule={"on_boot": True}, env={"A": "x=\"'\\", "B": "1\n2"}, stdin="in\n")
    daemon.add(
        "next", "true", schedule={"after": "plain:any"}, retry={"max": 0, "no_retry_on": [3, "oom"], "lost": 1},
        notify=["mail:ops@localhost"], tags=["x"], note="two\nlines", nice=5, umask="077", log_max="1MB",
        misfire="skip", priority="high", queue="q", limit=2, timeout="1h30m", paused=True,
    )  # fmt: skip
    daemon.add("once", "true", schedule={"at": "2099-01-01T00:00:00.250Z"})
    path = tmp_path / "all.toml"
    assert daemon.jobctl("export", "jobs", "--to", str(path)).returncode == 0
    assert own.jobctl("validate", str(path)).returncode == 0
    done = own.jobctl("apply", str(path))
    assert done.returncode == 0, done.stderr
    assert own.jobctl("export", "jobs").stdout == path.read_text()
    told = ("id", "uid", "created_at", "next_run_at", "source", "declared", "rev", "version", "last_run")
    for job_ in list(daemon.client.jobs()):
        here, there = daemon.client.job(job_["id"]), own.client.job(job_["name"])
        moving = [name for name in here if name in told or name.startswith(("paused_", "suspended_"))]
        assert {k: v for k, v in here.items() if k not in moving} == {k: v for k, v in there.items() if k not in moving}
        daemon.client.delete_job(job_["id"])
    assert own.jobctl("apply", "-").returncode == 0  # of an empty stdin: a file without jobs


def test_a_time_that_has_passed_makes_no_job_and_one_that_is_done_is_not_done_again(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    path = tmp_path / "once.toml"
    path.write_text('[job.old]\nat = "2001-01-01T00:00:00Z"\nshell = "true"\n')
    done = daemon.jobctl("apply", str(path))
    assert "its time has passed: it is not made" in done.stderr
    assert not jobs(daemon, path)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 6))
    path.write_text(f'[job.once]\nat = {at}\nshell = "true"\n')
    assert daemon.jobctl("apply", str(path)).returncode == 0
    run = daemon.until(lambda: next(iter(daemon.runs_of("once", state="succeeded")), None))
    assert daemon.jobctl("apply", str(path)).returncode == 0
    assert "1 unchanged" in daemon.jobctl("diff", str(path)).stdout
    assert [one["id"] for one in daemon.runs_of("once")] == [run["id"]]
