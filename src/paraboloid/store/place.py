"""Where a file lies, and which process this is: what decides between journals and between holders of a study."""

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Place", "filesystem_type", "is_alive", "is_network_filesystem", "process_start", "this_place", "uptime"]

MOUNTS = Path("/proc/mounts")
NETWORK_TYPES = frozenset(
    "nfs nfs4 cifs smb smb2 smb3 smbfs ncpfs afs ceph glusterfs lustre gpfs beegfs pvfs2 orangefs 9p virtiofs vboxsf "
    "vmhgfs prl_fs davfs fuse.sshfs fuse.glusterfs fuse.s3fs fuse.rclone fuse.gcsfuse fuse.davfs2 fuse.smbnetfs "
    "fuse.vmhgfs-fuse".split()
)


@dataclass(frozen=True, slots=True)
class Place:
    """One process on one machine since one boot.

    Parameters
    ----------
    host
        Name of the machine.
    machine, boot
        What stays between boots, and what does not; empty where the system does not say.
    pid, started
        The process, and when it began (clock ticks since boot): a process id alone is used again.

    Examples
    --------
    >>> Place("bench-3", "", "", 4711, "").host
    'bench-3'
    """

    host: str
    machine: str
    boot: str
    pid: int
    started: str


def this_place() -> Place:
    """Return this process.

    >>> import os
    >>> this_place().pid == os.getpid()
    True
    """
    boot = _text("/proc/sys/kernel/random/boot_id")
    try:
        # Process ids mean something within one namespace only: two containers are two places.
        boot = f"{boot}/{os.readlink('/proc/self/ns/pid')}" if boot else ""
    except OSError:
        boot = ""
    pid = os.getpid()
    return Place(socket.gethostname(), _text("/etc/machine-id"), boot, pid, process_start(pid))


def uptime() -> float:
    """Return seconds since boot, suspended time included: a clock that nobody sets.

    >>> uptime() <= uptime()
    True
    """
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def process_start(pid: int) -> str:
    """Return when a process began, in clock ticks since boot, or an empty text where that is not known."""
    # The name of the program stands in brackets and may hold blanks; what follows the last bracket is plain.
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def is_alive(place: Place) -> bool | None:
    """Tell whether a process of this machine and boot still runs; None where that cannot be known."""
    if os.name != "posix":
        return None  # os.kill would end the process there
    try:
        os.kill(place.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    if _text(f"/proc/{place.pid}/stat").rpartition(")")[2].split()[:1] in (["Z"], ["X"]):
        return False  # ended, and not yet buried by its parent
    return not place.started or process_start(place.pid) in ("", place.started)


def filesystem_type(path: Path, mounts: str) -> str:
    r"""Return the type of the file system that holds ``path``, read from the text of a mount table.

    >>> filesystem_type(Path("/home/a/study.db"), "disk / ext4 rw\nserver:/home /home nfs4 rw\n")
    'nfs4'
    """
    best, kind = "", ""
    where = str(path)
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = fields[1].encode().decode("unicode_escape") if "\\" in fields[1] else fields[1]
        # Among equal mount points the last one lies on top.
        if (where == point or where.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def is_network_filesystem(path: Path) -> bool:
    """Tell whether a file lies on a network file system, where shared memory between hosts does not work.

    >>> is_network_filesystem(Path("/proc/self"))
    False
    """
    return filesystem_type(path.resolve(), _text(str(MOUNTS))) in NETWORK_TYPES


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
