"""/etc/anacrontab and the folders of scripts, live, in a host of the test's own."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.client.transport import Request, UnixTransport
from kit.accounts import needs_root
from kit.daemon import PATIENCE_S, RealDaemon

pytestmark = [needs_root, pytest.mark.long]

CRONTAB = """17 * * * * root cd / && run-parts --report /etc/cron.hourly
25 6 * * * root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
"""


class Host:
    """Its files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("cron.d", "cron.hourly", "cron.daily", "cron.weekly", "cron.monthly"):
            (root / "etc" / folder).mkdir(parents=True)
            (root / "etc" / folder).chmod(0o755)

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        """Whole and at once, and as old as what a package has brought."""
        place = self.root / path.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = self.root / "draft"
        draft.write_text(text)
        draft.chmod(mode)
        os.utime(draft, (1_700_000_000, 1_700_000_000))
        draft.rename(place)
        return place


class Here:
    """The daemon and its host."""

    def __init__(self, daemon: RealDaemon, host: Host) -> None:
        self.daemon = daemon
        self.host = host

    def until(self, names: set[str]) -> dict[str, Any]:
        """All jobs, once they are these."""
        client = self.daemon.client
        self.daemon.until(lambda: {job["name"] for job in client.jobs()} == names)
        return {name: client.job(name) for name in names}

    def problem(self, path: str, words: str) -> dict[str, Any]:
        """The first thing that is wrong with a file, once it is this: that is told a moment after the jobs are so."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = self.tables().get(path, {"problems": ()})["problems"]
            if found and words in found[0]["reason"]:
                told: dict[str, Any] = found[0]
                return told
        raise AssertionError(self.tables())

    def tables(self) -> dict[str, Any]:
        answer = UnixTransport(self.daemon.socket)(Request("GET", "/v1/status")).json()
        return {table["path"].removeprefix(str(self.host.root)): table for table in answer["tables"]}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    place = tmp_path_factory.mktemp("periodic")
    host = Host(place / "host")
    (place / "home").mkdir()
    daemon = RealDaemon(place / "home").settings(f'crontabs = "on"\nhost_root = "{host.root}"\n')
    try:
        yield Here(daemon.start(), host)
    finally:
        daemon.close()


@pytest.fixture
def here(running: Here) -> Here:
    """A host that has scripts in its folders and nothing else, and a daemon that has seen it."""
    host = running.host
    for path in host.root.glob("etc/**/*"):
        if path.is_file():
            path.unlink()
    (host.root / "etc/cron.daily").chmod(0o755)
    host.write("/etc/cron.daily/first", "#!/bin/sh\necho first\n", 0o755)
    host.write("/etc/cron.daily/second.sh", "#!/bin/sh\n", 0o755)
    host.write("/etc/cron.hourly/every", "#!/bin/sh\n", 0o755)
    host.write("/etc/cron.daily/.placeholder", "")
    running.until({"first", "every"})
    return running


def test_scripts_that_nothing_runs_are_jobs_and_follow_their_folder(here: Here) -> None:
    first = here.until({"first", "every"})["first"]
    assert first["target"] == {"command": [f"{here.host.root}/etc/cron.daily/first"]}
    assert (first["schedule"]["cron"], first["queue"], first["owner"]) == ("25 6 * * *", "cron.daily", "root")
    assert (first["cwd"], first["misfire"], first["overlap"]) == ("/", "once", "skip")
    queues = {queue["name"]: queue["concurrency"] for queue in here.daemon.client.queues()}
    assert (queues["cron.daily"], queues["cron.hourly"]) == (1, 1)
    script = f"{here.host.root}/etc/cron.daily/first"
    assert f"from       {script}: it is changed there" in here.daemon.jobctl("show", "first").stdout
    assert f"first comes from {script} and cannot be" in here.daemon.jobctl("rm", "first", "--yes").stderr
    ran = here.daemon.finished(here.daemon.triggered("first"))
    assert (ran["state"], here.daemon.output(ran)) == ("succeeded", b"first\n")

    here.host.write("/etc/cron.daily/third", "#!/bin/sh\n", 0o755)
    assert here.until({"first", "third", "every"})["first"]["id"] == first["id"]
    (here.host.root / "etc/cron.daily/first").unlink()
    here.until({"third", "every"})
    here.host.write("/etc/cron.daily/third", "#!/bin/sh\n", 0o644)
    here.until({"every"})


def test_lines_of_a_crontab_take_the_folders_over_and_give_them_back(here: Here) -> None:
    table = here.host.write("/etc/crontab", CRONTAB)
    here.until({"run-parts", "run-parts-2"})
    table.unlink()
    here.until({"first", "every"})


def test_an_anacrontab_is_run_unless_anacron_is_there(here: Here) -> None:
    here.host.write(
        "/etc/anacrontab",
        "RANDOM_DELAY=5\nbad line\n1 5 daily run-parts /etc/cron.daily\n@monthly 15 tidy echo tidy\n",
    )
    jobs = here.until({"daily", "tidy", "every"})
    assert jobs["tidy"]["schedule"]["cron"] == "45 7 1 * *"
    assert jobs["tidy"]["schedule"]["jitter"] == 300
    problem = here.problem("/etc/anacrontab", "a period in days")
    assert (problem["line"], problem["text"]) == (2, "bad line")
    anacron = here.host.write("/usr/sbin/anacron", "#!/bin/sh\n", 0o755)
    here.daemon.reload()
    here.until({"every"})
    here.problem("/etc/anacrontab", "nothing starts it")
    anacron.unlink()
    here.daemon.reload()
    here.until({"daily", "tidy", "every"})


def test_what_others_may_write_is_not_run_as_root(here: Here) -> None:
    (here.host.root / "etc/cron.daily").chmod(0o777)
    here.host.write("/etc/cron.weekly/theirs", "#!/bin/sh\n", 0o777)
    here.host.write("/etc/cron.weekly/mine", "#!/bin/sh\n", 0o755)
    here.until({"first", "every", "mine"})
    here.problem("/etc/cron.daily", "others than root may put scripts there")


@pytest.mark.parametrize("why", ["refused file", "refused line", "gone folder"])
def test_what_a_line_still_runs_is_not_run_a_second_time(here: Here, why: str) -> None:
    """The job of a line goes on when its file is refused, or the line: then the scripts are no jobs as well."""
    here.host.write("/etc/cron.daily/one", "#!/bin/sh\n", 0o755)
    crontab = here.host.write("/etc/crontab", CRONTAB)
    here.until({"run-parts", "run-parts-2"})
    if why == "refused file":
        crontab.chmod(0o664)
        here.problem("/etc/crontab", "0664")
    elif why == "refused line":
        here.host.write("/etc/crontab", CRONTAB.replace("25 6 * *", "25 6 *"))
        here.problem("/etc/crontab", "its job goes on as it was")
    else:
        (here.host.root / "etc").rename(here.host.root / "elsewhere")
        here.problem("/etc/crontab", "is not there")
    here.host.write("/etc/cron.weekly/witness", "#!/bin/sh\n", 0o755)  # it is looked at after what is wrong
    here.until({"run-parts", "run-parts-2", "witness"})
    if why == "gone folder":
        here.host.write("/etc/cron.daily/one", "#!/bin/sh\n", 0o755)
        here.host.write("/etc/cron.monthly/second", "#!/bin/sh\n", 0o755)
        here.until({"run-parts", "run-parts-2", "witness", "second"})
        shutil.rmtree(here.host.root / "etc")
        (here.host.root / "elsewhere").rename(here.host.root / "etc")


@pytest.mark.parametrize("dangling", [False, True])
def test_a_folder_of_scripts_that_is_gone_takes_none_with_it(here: Here, dangling: bool) -> None:
    before = here.until({"first", "every"})
    folder = here.host.root / "etc/cron.daily"
    folder.rename(folder.with_name("away"))
    if dangling:
        folder.symlink_to("nowhere")
    here.problem("/etc/cron.daily", "the folder is gone")
    witness = here.host.write("/etc/cron.weekly/witness", "#!/bin/sh\n", 0o755)
    here.until({"first", "every", "witness"})
    if dangling:
        folder.unlink()
    folder.with_name("away").rename(folder)
    witness.unlink()
    assert here.until({"first", "every"})["first"]["id"] == before["first"]["id"]


def test_off_lets_all_go(here: Here) -> None:
    here.daemon.settings(f'crontabs = "off"\nhost_root = "{here.host.root}"\n')
    here.daemon.reload()
    here.until(set())
    here.daemon.settings(f'crontabs = "on"\nhost_root = "{here.host.root}"\n')
    here.daemon.reload()
    here.until({"first", "every"})
