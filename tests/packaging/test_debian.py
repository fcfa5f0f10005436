"""The package on a real Debian without Python: installed, upgraded with commands running, removed, purged."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from kit.deb_root import UNTIL, DebRoot, Debs, a_deb_root, alive, debs_of, ends, start_gated
from kit.own_host import needs_root

pytestmark = [pytest.mark.long, needs_root]

Rooted = Callable[[], AbstractContextManager[DebRoot]]

#: Tools for accounts keep what they changed.
KEPT_BY_OTHERS = {"/etc/gshadow-", "/etc/group-"}


@pytest.fixture(scope="module")
def debs(release_tree: Path) -> Debs:
    return debs_of(release_tree)


@pytest.fixture
def rooted(debian_root: Path, debs: Debs) -> Rooted:
    """A clean root with both packages in it, as /given/now.deb and /given/later.deb."""

    @contextmanager
    def made() -> Iterator[DebRoot]:
        with a_deb_root(debian_root) as root:
            shutil.copy(debs.now, root.given / "now.deb")
            shutil.copy(debs.later, root.given / "later.deb")
            yield root

    return made


def folders(root: DebRoot) -> list[str]:
    """Which versions have their programs there."""
    return root.sh("cd /usr/lib/jobctl; ls -d [0-9]* | sed 's/-[0-9a-f]*$//'").split()


def test_it_starts_the_daemon_which_runs_jobs_has_its_pages_and_completions_and_a_purge_leaves_nothing(
    rooted: Rooted, debs: Debs
) -> None:
    with rooted() as root:
        root.has_init()
        assert root.run("python3", "--version").returncode != 0, "the root is to have no Python"
        before = root.files()
        said = root.dpkg("-i", "/given/now.deb")
        assert "jobd is started" in said
        assert root.sh("jobctl --version; readlink -f /usr/sbin/jobd").startswith(f"jobctl {debs.version}\n/usr/lib/")
        assert root.sh("ls /etc/rc2.d /etc/rc6.d").split().count("S01jobd") == 1
        assert "comes back after a reboot: init starts it" in root.sh("jobctl status")
        # A job that is added, fires and is on record with its output; everybody may ask.
        root.sh("jobctl add hello --in 0s -- echo good day 2>&1")
        root.sh(UNTIL.format(*['jobctl log hello 2>/dev/null | grep -qx "good day"'] * 2))
        assert root.sh("HOME=/nonexistent setpriv --reuid=1 --regid=1 --clear-groups jobctl ls").startswith("no jobs")
        # Crontabs of the host are cron's as before.
        assert root.run("jobctl", "crontab", "-l").returncode != 0
        # Pages and completions, where Debian looks for them.
        assert "jobctl" in root.sh("zcat /usr/share/man/man1/jobctl.1.gz | head -n 5")
        assert "add a job" in root.sh("jobctl help add").lower()
        for file in (
            "/usr/share/man/man5/jobs.toml.5.gz",
            "/usr/share/man/man8/jobd.8.gz",
            "/usr/share/bash-completion/completions/jobctl",
            "/usr/share/zsh/vendor-completions/_jobctl",
            "/usr/share/fish/vendor_completions.d/jobctl.fish",
        ):
            assert root.sh(f"test -s {file}; dpkg -S {file}") == f"jobctl: {file}\n"
        assert root.sh("dpkg -V jobctl") == ""
        # dpkg's files and those that run are one: the package costs its size once.
        assert root.sh("stat -c %h /usr/lib/jobctl/tree/lib/jobctl/python3") == "2\n"
        assert root.sh("stat -c '%a %U %G' /var/lib/jobctl /var/spool/cron/crontabs").splitlines() == [
            "700 root root",
            "1730 root crontab",
        ]
        # Settings and jobs in files are the operator's until the purge.
        root.sh(
            "echo 'slots = 9' >/etc/jobctl/jobd.toml; cp /usr/share/doc/jobctl/examples/jobs.d/* /etc/jobctl/jobs.d"
        )
        root.dpkg("-r", "jobctl")
        root.sh("ls /etc/init.d/jobd /etc/jobctl/jobd.toml /etc/jobctl/jobs.d/example.toml /var/lib/jobctl/jobctl.db")
        assert root.run("ls", "/usr/lib/jobctl").returncode != 0
        root.dpkg("-P", "jobctl")
        assert root.files() - before <= KEPT_BY_OTHERS
        assert before - root.files() == set()
        assert root.run("getent", "group", "jobctl", "crontab").stdout == ""
        assert root.processes() == []


def test_an_upgrade_touches_none_of_ten_commands_and_the_way_back_works(rooted: Rooted, debs: Debs) -> None:
    with rooted() as root:
        root.has_init()
        root.dpkg("-i", "/given/now.deb")
        start_gated(root, 10)
        # Between the files and their configuration, which may be minutes, everything works on in the old version.
        root.dpkg("--unpack", "/given/later.deb")
        assert root.sh("jobctl --version; jobctl run -q --wait -- true; jobctl daemon status").startswith(
            f"jobctl {debs.version}\n"
        )
        assert alive(root) == 10
        said = root.dpkg("--configure", "jobctl")
        assert "jobd is stopped\njobd is started\n" in said
        assert "processes still run from there: /usr/lib/jobctl/" in said
        assert f"jobd {debs.later_version}, pid" in root.sh("jobctl daemon status")
        assert (alive(root), folders(root)) == (10, [debs.version, debs.later_version])
        assert not [line for line in root.processes() if "(deleted)" in line]
        assert root.sh("jobctl run -q --wait -- echo new >/dev/null; jobctl log echo") == "new\n"
        # The same package again is a repair, and takes away what nobody runs from any more.
        assert ends(root, 10) == [7] * 10
        root.sh("rm /usr/lib/jobctl/current/lib/jobctl/jobd; truncate -s 0 /usr/lib/jobctl/current/lib/jobctl/jobctl")
        root.dpkg("-i", "/given/later.deb")
        assert folders(root) == [debs.later_version]
        assert f"jobd {debs.later_version}, pid" in root.sh("jobctl daemon status; jobd --version")
        # Back, with commands running.
        start_gated(root, 2)
        root.dpkg("-i", "/given/now.deb")
        assert f"jobd {debs.version}, pid" in root.sh("jobctl daemon status")
        assert (alive(root), ends(root, 2)) == (2, [7, 7])


def test_a_removal_ends_no_command_gives_crontabs_back_and_the_next_installation_carries_on(
    rooted: Rooted, debs: Debs
) -> None:
    with rooted() as root:
        root.has_init()
        before = root.files()
        # As cron's package has them, but without its daemon.
        root.sh("printf '#!/bin/sh\\necho from cron\\n' >/usr/bin/crontab; chmod 2755 /usr/bin/crontab")
        root.sh("echo '0 5 * * * root true' >/etc/crontab")
        root.dpkg("-i", "/given/now.deb")
        assert root.sh("crontab -l; /usr/lib/jobctl/divert-crontab status") == "from cron\noff\n"
        root.sh("/usr/lib/jobctl/divert-crontab on; /usr/lib/jobctl/divert-crontab on")
        assert root.sh("/usr/bin/crontab.distrib; /usr/lib/jobctl/divert-crontab status") == "from cron\non\n"
        root.sh("jobctl import crontab --system --apply --yes --force")
        root.sh("echo '7 7 * * * echo seven' | crontab -")
        assert root.sh("crontab -l") == "7 7 * * * echo seven\n"
        # An upgrade leaves the choice as it is.
        root.dpkg("-i", "/given/later.deb")
        assert root.sh("/usr/lib/jobctl/divert-crontab status; crontab -l") == "on\n7 7 * * * echo seven\n"
        start_gated(root, 2)
        said = root.dpkg("-r", "jobctl")
        assert "the crontabs of this host are given back to cron" in said
        assert "commands that go on: 2" in said
        assert "kept until the next installation or a purge, because processes still run from there: /usr/lib" in said
        assert root.sh("crontab -l; stat -c %a /usr/bin/crontab; dpkg-divert --list '*crontab*'") == "from cron\n2755\n"
        assert alive(root) == 2
        assert root.run("jobctl", "--version").returncode != 0
        root.sh("touch /tmp/gate; " + UNTIL.format(*["! ls -l /proc/[0-9]*/exe | grep -q jobctl"] * 2))
        root.dpkg("-i", "/given/later.deb")
        assert ends(root, 2) == [7, 7]
        assert "does not run crontabs as they stand" in root.run("jobctl", "crontab", "-l").stdout
        assert folders(root) == [debs.later_version]
        # A purge with a command running removes everything but what that runs from.
        start_gated(root, 1)
        said = root.dpkg("-P", "jobctl")
        assert "processes still run from there, delete it when they have ended: /usr/lib/jobctl/" in said
        assert alive(root) == 1
        root.sh("touch /tmp/gate; " + UNTIL.format(*["! kill -0 $(cat /tmp/pid-0) 2>/dev/null"] * 2))
        left = {file for file in root.files() - before if not file.startswith("/usr/lib/jobctl")}
        assert left - KEPT_BY_OTHERS == {
            "/usr/bin/crontab",
            "/etc/crontab",
            # Crontabs are their users' own.
            "/var/spool/cron",
            "/var/spool/cron/crontabs",
            "/var/spool/cron/crontabs/root",
        }


def test_nothing_is_started_where_nobody_keeps_services_and_what_was_started_by_hand_is_upgraded(
    rooted: Rooted, debs: Debs
) -> None:
    with rooted() as root:
        said = root.dpkg("-i", "/given/now.deb")
        assert "jobd was not started: neither systemd nor an init runs here. By hand: service jobd start" in said
        assert root.processes() == []
        assert root.sh("service jobd start; jobctl status").count("will NOT come back after a reboot") == 1
        start_gated(root, 1)
        said = root.dpkg("-i", "/given/later.deb")
        assert "jobd is stopped\njobd is started\n" in said
        assert f"jobd {debs.later_version}, pid" in root.sh("jobctl daemon status")
        assert (alive(root), ends(root, 1)) == (1, [7])
        # Who forbids starts forbids restarts.
        root.sh("printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d")
        assert "jobd was not (re)started: policy-rc.d forbids it" in root.dpkg("-i", "/given/now.deb")
        assert f"jobd {debs.later_version}, pid" in root.sh("jobctl daemon status")
        root.dpkg("-r", "jobctl")
        assert root.processes() == []


def test_an_upgrade_that_fails_in_the_middle_leaves_the_version_before_at_work(rooted: Rooted, debs: Debs) -> None:
    with rooted() as root:
        root.has_init()
        root.dpkg("-i", "/given/now.deb")
        start_gated(root, 1)
        shutil.copy(debs.with_script("preinst", "exit 1"), root.given / "refusing.deb")
        done = root.run("dpkg", "-i", "/given/refusing.deb")
        assert done.returncode == 1
        assert root.sh("dpkg-query -W -f '${Status} ${Version}' jobctl") == f"install ok installed {debs.version}"
        assert f"jobd {debs.version}, pid" in root.sh("jobctl daemon status; jobd --version")
        assert alive(root) == 1
        # One whose configuration fails has its files there; what runs goes on, and the package of before comes back.
        shutil.copy(debs.with_script("postinst", "exit 1"), root.given / "broken.deb")
        assert root.run("dpkg", "-i", "/given/broken.deb").returncode == 1
        assert f"jobd {debs.version}, pid" in root.sh("jobctl daemon status")
        assert root.sh("jobctl --version") == f"jobctl {debs.version}\n"
        root.dpkg("-i", "/given/now.deb")
        assert (alive(root), ends(root, 1)) == (1, [7])
        # A mistake in the settings holds up no package.
        root.sh("echo nonsense >/etc/jobctl/jobd.toml")
        assert "jobd did not start. Why: jobctl daemon log" in root.dpkg("-i", "/given/later.deb")


def test_it_is_not_installed_beside_an_installation_of_install_sh(rooted: Rooted, debs: Debs) -> None:
    with rooted() as root:
        root.has_init()
        root.sh("mkdir -p /opt/jobctl/0.0.9; ln -s 0.0.9 /opt/jobctl/current")
        done = root.run("dpkg", "-i", "/given/now.deb")
        assert done.returncode == 1
        assert "jobctl: install.sh has installed jobctl on this host already, in /opt/jobctl." in done.stdout
        assert root.run("sh", "-c", "ls /usr/lib/jobctl /var/lib/jobctl /etc/init.d/jobd").stdout.count("cannot") == 3
        # What runs from there still, after its removal, is no installation.
        root.sh("rm /opt/jobctl/current")
        root.dpkg("-i", "/given/now.deb")
        # One that came later has the state folder: an upgrade does not put a second daemon beside it.
        root.sh("jobctl daemon stop; ln -s 0.0.9 /opt/jobctl/current")
        assert "is neither enabled nor started. After ./install.sh --uninstall" in root.dpkg("-i", "/given/later.deb")
        assert root.run("jobctl", "daemon", "status").returncode != 0
        root.dpkg("-P", "jobctl")
        assert root.sh("ls /var/lib/jobctl/jobctl.db") == "/var/lib/jobctl/jobctl.db\n"
