"""Which filesystem holds a path, and which kinds are no place for the database."""

import os
from pathlib import Path

import pytest

from jobctl_daemon.mounts import filesystem_type, is_network, network_kind

LINE = "{number} 1 {device} {root} {place} rw,relatime shared:1 - {kind} {source} {options}\n"


class Table:
    """A mountinfo of a test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = [LINE.format(number=1, device="0:1", root="/", place="/", kind="ext4", source="x", options="rw")]

    def mount(
        self, place: str | Path, kind: str, *, device: str = "0:9", root: str = "/", options: str = "rw"
    ) -> "Table":
        self._lines.append(
            LINE.format(number=9, device=device, root=root, place=place, kind=kind, source="host:/x", options=options)
        )
        self.path.write_bytes(os.fsencode("".join(self._lines)))
        return self


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "mountinfo")


def device_of(path: Path) -> str:
    found = path.stat().st_dev
    return f"{os.major(found)}:{os.minor(found)}"


def test_the_type_is_that_of_the_deepest_mount_that_holds_the_path(table: Table) -> None:
    table.mount("/srv/my\\040data", "nfs4")

    assert filesystem_type("/srv/my data/state", str(table.path)) == "nfs4"
    assert filesystem_type("/srv/my", str(table.path)) == "ext4"
    assert filesystem_type("/srv/my data and more", str(table.path)) == "ext4"


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("/srv/a\\011b", "/srv/a\tb"),
        ("/srv/a\\012b", "/srv/a\nb"),
        ("/srv/a\\134b", "/srv/a\\b"),
        ("/srv/a\\134040b", "/srv/a\\040b"),
        ("/srv/gr\u00fcn", "/srv/gr\u00fcn"),
        ("/srv/\udcff", "/srv/\udcff"),
        ("/srv/a-b", "/srv/a-b"),
        ("/srv/a\\040-\\040b", "/srv/a - b"),
    ],
)
def test_odd_characters_in_the_name_of_a_mount_are_read_as_they_are(table: Table, written: str, place: str) -> None:
    table.mount(written, "nfs4")

    assert network_kind(f"{place}/state", str(table.path)) == "nfs4"


def test_a_folder_that_is_bound_elsewhere_has_the_kind_of_its_source(table: Table) -> None:
    table.mount("/var/lib/jobctl", "cifs", root="/share/deep")

    assert network_kind("/var/lib/jobctl", str(table.path)) == "cifs"


def test_a_mount_that_another_one_hides_does_not_count(table: Table, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    table.mount(folder, "nfs4", device="0:77").mount(tmp_path / "a", "xfs", device=device_of(folder))

    assert network_kind(str(folder), str(table.path)) == ""


def test_the_last_of_several_mounts_at_one_place_counts(table: Table) -> None:
    table.mount("/srv", "nfs4").mount("/srv", "ext4")

    assert network_kind("/srv/state", str(table.path)) == ""


def test_an_overlay_is_what_it_writes_to(table: Table) -> None:
    table.mount("/remote", "nfs4").mount("/srv", "overlay", options="rw,lowerdir=/a:/b,upperdir=/remote/up,workdir=/w")

    assert network_kind("/srv/state", str(table.path)) == "overlay over nfs4"


def test_an_overlay_over_local_folders_is_local(table: Table) -> None:
    table.mount("/remote", "nfs4").mount("/srv", "overlay", options="rw,lowerdir=/remote/a,upperdir=/up,workdir=/w")

    assert network_kind("/srv/state", str(table.path)) == ""


def test_overlays_over_each_other_come_to_an_end(table: Table) -> None:
    table.mount("/a", "overlay", options="upperdir=/b/x").mount("/b", "overlay", options="upperdir=/a/x")

    assert network_kind("/a/state", str(table.path)) == ""


@pytest.mark.parametrize(
    "kind",
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "9p", "lustre", "gfs", "gfs2", "ocfs2", "gpfs", "beegfs",
     "glusterfs", "vboxsf", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.s3fs", "fuse.rclone",
     "fuse.gcsfuse", "fuse.juicefs", "fuse.davfs2", "fuse.vmhgfs-fuse"],
)  # fmt: skip
def test_kinds_of_the_network_are_refused(kind: str) -> None:
    assert is_network(kind)


@pytest.mark.parametrize(
    "kind",
    ["ext2", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "f2fs", "bcachefs", "jfs", "reiserfs", "fuseblk",
     "fuse.gocryptfs", "fuse.bindfs", "fuse.mergerfs", "virtiofs", ""],
)  # fmt: skip
def test_local_kinds_are_taken(kind: str) -> None:
    assert not is_network(kind)


@pytest.mark.parametrize("text", ["", "garbage\n", "1 0 8:1 /\n", "1 0 x:y / / rw - nfs4 h rw\n", " - \n\x00\n"])
def test_a_table_that_is_not_understood_refuses_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "mountinfo").write_text(text)

    assert network_kind("/srv", str(tmp_path / "mountinfo")) == ""
    assert network_kind("/srv", str(tmp_path / "nowhere")) == ""


def test_the_real_table_knows_the_folder_of_the_tests(tmp_path: Path) -> None:
    assert filesystem_type(str(tmp_path))
    assert network_kind("/proc/self") == ""
