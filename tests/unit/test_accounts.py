"""The users that tests make: real ones, and gone afterwards."""

import grp
import os
import pwd
import subprocess

import pytest

from kit.accounts import accounts, needs_root

pytestmark = needs_root


def test_users_and_groups_are_real_and_gone_afterwards() -> None:
    with accounts() as host:
        ada, bob = host.users(2)
        admins = host.group(ada)
        said = ada.run("id", "-nG").stdout.split()
        assert set(said) == {ada.name, admins}
        assert bob.run("sh", "-c", "id -un; echo $HOME").stdout.split() == [bob.name, str(bob.home)]
        assert ada.home.stat().st_uid == ada.uid
        host.leave(ada, admins)
        assert ada.run("id", "-nG").stdout.split() == [ada.name]
    for name in (ada.name, bob.name):
        with pytest.raises(KeyError):
            pwd.getpwnam(name)
        with pytest.raises(KeyError):
            grp.getgrnam(name)
    with pytest.raises(KeyError):
        grp.getgrnam(admins)
    assert not ada.home.exists()


def test_what_its_users_have_begun_ends_and_a_failing_test_leaves_nothing() -> None:
    begun: list[subprocess.Popen[bytes]] = []
    names: list[str] = []

    def fails() -> None:
        with accounts() as host:
            ada = host.user()
            names.append(ada.name)
            begun.append(subprocess.Popen(ada.command(["sleep", "1000"])))
            while os.stat(f"/proc/{begun[0].pid}").st_uid != ada.uid:
                assert begun[0].poll() is None
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert begun[0].wait(10) == -9
    with pytest.raises(KeyError):
        pwd.getpwnam(names[0])


def test_a_number_can_be_given_to_another_name() -> None:
    with accounts() as host:
        old = host.user()
        host.remove(old)
        new = host.user("-u", str(old.uid))
        assert new.uid == old.uid
        assert new.name != old.name
        renamed = host.rename(new)
        assert pwd.getpwuid(old.uid).pw_name == renamed.name
