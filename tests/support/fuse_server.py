"""A network file system in miniature: serves a folder at its own path, to processes of one mount namespace.

Run inside of `unshare -Urm`. Whoever is in that namespace works through the server, everybody else works
on the folder itself, as another host would: changes from there cause no file events here. A handle is good
for one file: when another one has taken its path elsewhere, that is ESTALE. What is removed here while it
is open lives on under a hidden name, as NFS and libfuse do it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

from tests.support import fuse_wire as wire

LOCAL, FORWARDED = "local", "forwarded"
"""Locks that hold in this mount only, and locks that hold on both sides; an error name stands for none."""

_ROOT = 1
_BUFFER = 1 << 20


class Server:
    """Answers one request after another."""

    def __init__(self, device: int, folder: int, locks: str, attributes_kept: float) -> None:
        self._device = device
        self._top = f"/proc/self/fd/{folder}/."
        self._locks = locks
        self._kept = divmod(round(attributes_kept * 1e9), 10**9)
        self._paths = {_ROOT: self._top}
        self._inodes = {_ROOT: os.stat(self._top).st_ino}
        self._nodes: dict[tuple[int, str], int] = {}  # the number alone may be used again
        self._open: dict[int, list[int]] = {}
        self._hidden = 0

    def serve(self) -> None:
        """Answer until the mount has gone."""
        while True:
            try:
                request = os.read(self._device, _BUFFER)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                raise
            _, code, unique, node = struct.unpack_from("<IIQQ", request)
            number, body = self._answer(code, node, request[wire.HEAD :])
            if code not in wire.NO_ANSWER:
                self._tell(wire.answer(unique, number, body))

    def _tell(self, text: bytes) -> None:
        with suppress(FileNotFoundError):  # the caller was killed meanwhile, or nobody knows the file
            os.write(self._device, text)

    def _answer(self, code: int, node: int, body: bytes) -> tuple[int, bytes]:
        operation = _OPERATIONS.get(code)
        if operation is None:
            return (0 if code in wire.NO_ANSWER else errno.ENOSYS), b""
        try:
            return 0, operation(self, node, body)
        except OSError as error:
            return error.errno or errno.EIO, b""

    # Handles

    def _path(self, node: int) -> str:
        """Return where the file of this handle is now; ESTALE when it is not there any more."""
        path = self._paths[node]
        if node != _ROOT:
            try:
                found = os.lstat(path).st_ino
            except FileNotFoundError:
                found = 0
            if found != self._inodes[node]:
                raise OSError(errno.ESTALE, "another file is there")
        return path

    def _below(self, node: int, name: bytes) -> str:
        return f"{self._path(node)}/{os.fsdecode(name.rstrip(bytes(1)))}"

    def _entry(self, path: str) -> bytes:
        state = os.lstat(path)
        node = self._nodes.setdefault((state.st_ino, path), len(self._paths) + 1)
        self._paths[node], self._inodes[node] = path, state.st_ino
        return wire.entry(node, state, self._kept)

    def _put_aside(self, path: str) -> bool:
        """Hide what is about to lose its name while it is open; it goes with its last descriptor."""
        try:
            state = os.lstat(path)
        except FileNotFoundError:
            return False
        node = self._nodes.get((state.st_ino, path), 0)
        if not self._open.get(node):
            self._nodes.pop((state.st_ino, path), None)
            return False
        self._hidden += 1
        hidden = f"{os.path.dirname(path)}/.nfs{self._hidden:08d}"
        os.rename(path, hidden)
        self._move(node, hidden)
        return True

    def _move(self, node: int, path: str) -> None:
        inode = self._inodes[node]
        self._nodes.pop((inode, self._paths[node]), None)
        self._paths[node] = path
        self._nodes[inode, path] = node

    # Operations

    def init(self, node: int, body: bytes) -> bytes:
        _, minor, readahead, offered = struct.unpack_from("<IIII", body)
        return wire.hello(readahead, offered & (0 if self._locks == LOCAL else wire.FLOCK_LOCKS), minor)

    def lookup(self, node: int, body: bytes) -> bytes:
        return self._entry(self._below(node, body))

    def getattr(self, node: int, body: bytes) -> bytes:
        flags, _, handle = struct.unpack_from("<IIQ", body)
        state = os.fstat(_living(handle)) if flags & wire.BY_HANDLE else os.lstat(self._path(node))
        return wire.attributes(state, self._kept)

    def setattr(self, node: int, body: bytes) -> bytes:
        """Set mode and size; times are those of the folder's own file system."""
        valid, _, handle, size = struct.unpack_from("<IIQQ", body)
        target: int | str = handle if valid & wire.SET_BY_HANDLE else self._path(node)
        if valid & wire.SET_MODE:
            os.chmod(target, stat.S_IMODE(struct.unpack_from("<I", body, 68)[0]))
        if valid & wire.SET_SIZE:
            os.truncate(target, size)
        return wire.attributes(os.stat(target), self._kept)

    def readlink(self, node: int, body: bytes) -> bytes:
        return os.fsencode(os.readlink(self._path(node)))

    def symlink(self, node: int, body: bytes) -> bytes:
        name, target = body.split(bytes(1))[:2]
        path = self._below(node, name)
        os.symlink(os.fsdecode(target), path)
        return self._entry(path)

    def mkdir(self, node: int, body: bytes) -> bytes:
        path = self._below(node, body[8:])
        os.mkdir(path, struct.unpack_from("<I", body)[0] & 0o7777)
        return self._entry(path)

    def unlink(self, node: int, body: bytes) -> bytes:
        path = self._below(node, body)
        if not self._put_aside(path):
            os.unlink(path)
        return b""

    def rmdir(self, node: int, body: bytes) -> bytes:
        path = self._below(node, body)
        inode = os.lstat(path).st_ino
        os.rmdir(path)
        self._nodes.pop((inode, path), None)
        return b""

    def rename(self, node: int, body: bytes, skip: int = 8) -> bytes:
        (folder,) = struct.unpack_from("<Q", body)
        old_name, new_name = body[skip:].split(bytes(1))[:2]
        old, new = self._below(node, old_name), self._below(folder, new_name)
        self._put_aside(new)
        os.rename(old, new)
        for known, path in list(self._paths.items()):
            if path == old or path.startswith(f"{old}/"):
                self._move(known, new + path[len(old) :])
        return b""

    def rename2(self, node: int, body: bytes) -> bytes:
        if struct.unpack_from("<QI", body)[1]:
            raise OSError(errno.EINVAL, "no flags")
        return self.rename(node, body, 16)

    def link(self, node: int, body: bytes) -> bytes:
        (old,) = struct.unpack_from("<Q", body)
        path = self._below(node, body[8:])
        os.link(self._path(old), path)
        return self._entry(path)

    def open(self, node: int, body: bytes) -> bytes:
        """Open a file; its size and times are asked for anew, as NFS promises at each open."""
        self._tell(wire.forget_attributes(node))
        flags = struct.unpack_from("<I", body)[0] & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_NOFOLLOW)
        return self._opened(node, os.open(self._path(node), flags))

    def create(self, node: int, body: bytes) -> bytes:
        flags, mode = struct.unpack_from("<II", body)
        path = self._below(node, body[16:])
        handle = os.open(path, flags | os.O_CREAT, mode & 0o7777)
        entry = self._entry(path)
        return entry + self._opened(self._nodes[os.fstat(handle).st_ino, path], handle)

    def _opened(self, node: int, handle: int) -> bytes:
        self._open.setdefault(node, []).append(handle)
        uncached = wire.DIRECT_IO if self._paths[node].split("/")[-2] == ".locks" else 0
        return wire.opened(handle, uncached)  # of a file that is locked NFS keeps nothing

    def read(self, node: int, body: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", body)
        return os.pread(_living(handle), size, offset)

    def write(self, node: int, body: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", body)
        return struct.pack("<II", os.pwrite(_living(handle), body[40 : 40 + size], offset), 0)

    def release(self, node: int, body: bytes) -> bytes:
        (handle,) = struct.unpack_from("<Q", body)
        os.close(handle)
        self._open[node].remove(handle)
        hidden = self._paths[node]
        if not self._open[node] and os.path.basename(hidden).startswith(".nfs"):
            with suppress(FileNotFoundError):
                os.unlink(hidden)
            self._nodes.pop((self._inodes[node], hidden), None)
        return b""

    def opendir(self, node: int, body: bytes) -> bytes:
        return bytes(16)

    def readdir(self, node: int, body: bytes) -> bytes:
        """Return names from `offset` on; sorted, so that the places mean the same in the next request."""
        _, offset, size = struct.unpack_from("<QQI", body)
        names = [".", "..", *sorted(os.listdir(self._path(node)))]
        return b"".join(wire.names_from(names, offset, size))

    def nothing(self, node: int, body: bytes) -> bytes:
        return b""

    def lock(self, node: int, body: bytes) -> bytes:
        if self._locks != FORWARDED:
            raise OSError(getattr(errno, self._locks), "no locks here")
        handle, _, _, _, kind = struct.unpack_from("<QQQQI", body)
        how = {fcntl.F_RDLCK: fcntl.LOCK_SH, fcntl.F_WRLCK: fcntl.LOCK_EX}.get(kind, fcntl.LOCK_UN)
        fcntl.flock(_living(handle), how | fcntl.LOCK_NB)
        return b""


def _living(handle: int) -> int:
    """Return it; ESTALE when its file was removed from elsewhere: what is removed here keeps a name."""
    if os.fstat(handle).st_nlink == 0:
        raise OSError(errno.ESTALE, "the file has gone")
    return handle


_OPERATIONS: dict[int, Callable[[Server, int, bytes], bytes]] = {
    1: Server.lookup,
    3: Server.getattr,
    4: Server.setattr,
    5: Server.readlink,
    6: Server.symlink,
    9: Server.mkdir,
    10: Server.unlink,
    11: Server.rmdir,
    12: Server.rename,
    13: Server.link,
    14: Server.open,
    15: Server.read,
    16: Server.write,
    18: Server.release,
    20: Server.nothing,
    25: Server.nothing,
    26: Server.init,
    27: Server.opendir,
    28: Server.readdir,
    29: Server.nothing,
    32: Server.lock,
    33: Server.lock,
    35: Server.create,
    45: Server.rename2,
}


def main(folder: str, locks: str, attributes_kept: str) -> None:
    """Mount, say so, and serve until the mount has gone or the process is killed."""
    below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"swarm-test", os.fsencode(folder), b"fuse", 0, options.encode()):
        sys.exit(os.strerror(ctypes.get_errno()))
    server = Server(device, below, locks, float(attributes_kept))
    os.write(sys.stdout.fileno(), b"mounted\n")
    server.serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
