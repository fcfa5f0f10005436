"""Which filesystem holds a path: /proc/self/mountinfo (proc(5)), and which kinds are no place for the database."""

import os
import re
from dataclasses import dataclass
from typing import Final

#: SQLite's locks and its shared memory do not hold over these (sqlite.org/wal.html, "use over a network"): filesystems
#: of the network, of clusters, and folders that a virtual machine shares with its host.
_NETWORK: Final = frozenset({
    "nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "smb", "ncp", "ncpfs", "afs", "auristorfs", "coda", "ceph", "9p",
    "lustre", "gfs", "gfs2", "ocfs2", "gpfs", "mmfs", "beegfs", "fhgfs", "glusterfs", "panfs", "orangefs", "pvfs2",
    "wekafs", "vboxsf", "vmhgfs", "prl_fs", "prl_fs_ptr", "shfs", "davfs", "davfs2", "webdav", "xtreemfs", "moosefs",
    "lizardfs", "juicefs", "vastnfs", "cvfs", "snfs", "acfs",
})  # fmt: skip
#: The same, and stores of objects, by programs of their own; after "fuse.".
_NETWORK_FUSE: Final = frozenset({
    "sshfs", "glusterfs", "ceph", "ceph-fuse", "s3fs", "s3ql", "goofys", "gcsfuse", "blobfuse", "blobfuse2",
    "mount-s3", "mountpoint-s3", "rclone", "rclonefs", "juicefs", "mfs", "moosefs", "mfsmount", "lizardfs", "saunafs",
    "seaweedfs", "weed", "davfs", "davfs2", "curlftpfs", "smbnetfs", "smb3fs", "afpfs", "nfs", "fuse-nfs", "hdfs",
    "hadoop-fuse-dfs", "objectivefs", "google-drive-ocamlfuse", "onedriver", "dbxfs", "httpfs", "xtreemfs",
    "cernvm-fs", "cvmfs", "cvmfs2", "ipfs", "vmhgfs-fuse", "vmware-vmblock", "portal", "gvfsd-fuse", "beegfs",
    "quobyte", "wekafs", "kio-fuse", "keybase", "acd_cli", "alluxio", "alluxio-fuse",
})  # fmt: skip
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")
#: Filesystems that lie over folders of others.
_STACKED: Final = frozenset({"overlay", "aufs", "ecryptfs"})
_DEPTH: Final = 8


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    device: tuple[int, int]
    place: str
    kind: str
    source: str
    options: str


def network_kind(path: str, mounts: str = "/proc/self/mountinfo") -> str:
    """The kind of the network filesystem that holds `path`, also under an overlay; empty when it is a local one."""
    known = read(mounts)
    return _network(os.path.realpath(path), known, _DEPTH)


def filesystem_type(path: str, mounts: str = "/proc/self/mountinfo") -> str:
    """The kind of filesystem that holds `path`; empty when it cannot be told."""
    found = holder(os.path.realpath(path), read(mounts))
    return found.kind if found else ""


def read(mounts: str) -> list[Mount]:
    """The mounts, in their order; none where there is no such file. A line that is not understood is left out."""
    try:
        with open(mounts, "rb") as file:
            return [mount for line in file.read().splitlines() if (mount := _parsed(line))]
    except OSError:
        return []


def holder(real: str, known: list[Mount]) -> Mount | None:
    """The mount of a path without links. The device decides: another mount may lie over a deeper one, or beside it."""
    under = [mount for mount in known if _inside(real, mount.place)]
    try:
        device = os.stat(real).st_dev
    except OSError:
        device = -1
    same = [mount for mount in under if mount.device == (os.major(device), os.minor(device))] if device >= 0 else []
    deepest: Mount | None = None
    for mount in same or under:
        if deepest is None or len(mount.place) >= len(deepest.place):
            deepest = mount
    return deepest


def _network(real: str, known: list[Mount], depth: int) -> str:
    mount = holder(real, known)
    if mount is None or depth <= 0:
        return ""
    if is_network(mount.kind):
        return mount.kind
    if mount.kind in _STACKED:
        for below in _below(mount):
            kind = _network(os.path.realpath(below), [one for one in known if one is not mount], depth - 1)
            if kind:
                return f"{mount.kind} over {kind}"
    return ""


def is_network(kind: str) -> bool:
    """Whether the name of a filesystem is that of one over a network."""
    return kind in _NETWORK or (kind.startswith("fuse.") and kind.removeprefix("fuse.") in _NETWORK_FUSE)


def _below(mount: Mount) -> list[str]:
    """The folder that an overlay writes to. What it only reads, it copies before it writes."""
    if mount.kind == "ecryptfs":
        return [mount.source]
    places = []
    for option in mount.options.split(","):
        name, _, value = option.partition("=")
        if name == "upperdir":
            places.append(value)
        elif name == "br":  # aufs: dir=rw:dir=ro
            places += [part.partition("=")[0] for part in value.split(":") if part.endswith("=rw")]
    return [place for place in places if os.path.isabs(place)]


def _parsed(line: bytes) -> Mount | None:
    left, mark, right = line.partition(b" - ")
    before, after = left.split(b" "), right.split(b" ")
    if not mark or len(before) < 5 or len(after) < 3:
        return None
    major, _, minor = before[2].partition(b":")
    if not (major.isdigit() and minor.isdigit()):
        return None
    return Mount(
        device=(int(major), int(minor)),
        place=_text(before[4]),
        kind=_text(after[0]),
        source=_text(after[1]),
        options=_text(after[2]),
    )


def _text(field: bytes) -> str:
    """Blanks, tabs, newlines and backslashes are written as three octal digits; all else is bytes of a path."""
    return os.fsdecode(_ESCAPED.sub(lambda match: bytes([int(match[1], 8) & 0xFF]), field))


def _inside(real: str, place: str) -> bool:
    return place == "/" or real == place or real.startswith(place + "/")
