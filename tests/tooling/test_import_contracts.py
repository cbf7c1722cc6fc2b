"""The contracts on imports: green on a tree that keeps to them, and each of them red once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")

# One line per package, from the top down: each imports what stands below it and may.
CLEAN_TREE = {
    "swarm.cli": "import swarm.dashboard, swarm.leader, worker.main",
    "swarm.dashboard": "import swarm.leader",
    "swarm.leader": "import swarm.backends, asyncio, pydantic",
    "swarm.backends": "import swarm.storage, swarm.permissions",
    "swarm.storage": "import swarm.core, os, fcntl",
    "swarm.permissions": "import swarm.core, pydantic",
    "swarm.hooks": "import swarm.core",
    "swarm.workspace": "import swarm.core, subprocess",
    "swarm.teamfile": "import swarm.core, yaml, pydantic, networkx",
    "swarm.core": "import swarm.settings, swarm.errors, json, re",
    "swarm.logs": "import swarm.settings, logging",
    "swarm.settings": "import swarm.errors, swarm.values",
    "swarm.errors": "",
    "swarm.values": "",
    "worker.main": "import worker.teammate, swarm.logs",
    "worker.teammate": "import worker.agents, worker.engine, swarm.storage, swarm.workspace",
    "worker.agents": "import worker.engine",
    "worker.engine": "import worker.permission, worker.loop",
    "worker.permission": "import worker.loop, swarm.permissions",
    "worker.loop": "import worker.tools, worker.session, worker.memory, worker.mcp",
    "worker.tools": "import worker.context, worker.model, swarm.storage",
    "worker.memory": "import worker.messages",
    "worker.session": "import worker.context",
    "worker.mcp": "import worker.messages",
    "worker.context": "import worker.prompts",
    "worker.model": "import worker.messages, anthropic",
    "worker.prompts": "import worker.messages",
    "worker.messages": "import swarm.core",
}

# Entry points and re-exports stand above everything; the shipped fakes beside it.
OUTSIDE_THE_LAYERS = {
    "swarm.__init__",
    "swarm.__main__",
    "swarm.testing",
    "worker.__init__",
    "worker.__main__",
}

# contract, importing package, import that breaks the contract
VIOLATIONS = [
    ("swarm-layers", "swarm.storage", "import swarm.leader"),
    ("swarm-layers", "swarm.errors", "import swarm.core"),
    ("swarm-layers", "swarm.permissions", "import swarm.storage"),
    ("swarm-layers", "swarm.core", "import swarm.logs"),
    ("worker-layers", "worker.loop", "import worker.engine"),
    ("worker-layers", "worker.session", "import worker.tools"),
    ("worker-layers", "worker.messages", "import worker.context"),
    ("worker-without-cli", "worker.main", "import swarm.cli"),
    ("worker-without-dashboard", "worker.teammate", "import swarm.dashboard"),
    ("worker-without-leader", "worker.permission", "import swarm.leader"),
    ("worker-without-backends", "worker.tools", "import swarm.backends"),
    ("only-cli-imports-worker", "swarm.backends", "import worker.main"),
    ("only-cli-imports-worker", "swarm.core", "def late():\n    from worker import messages"),
    ("pure-core", "swarm.core", "import subprocess"),
    ("pure-core", "swarm.core", "from pydantic import BaseModel"),
    ("pure-core", "swarm.settings", "import dataclasses"),
    ("light-storage", "swarm.storage", "import asyncio"),
    ("light-storage", "swarm.values", "from dataclasses import dataclass"),
    ("sdk-in-model", "worker.context", "import anthropic"),
    ("sdk-in-model", "swarm.permissions", "import anthropic"),
]


def contracts() -> dict[str, dict[str, Any]]:
    settings = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]
    return {contract["id"]: contract for contract in settings["contracts"]}


def write_tree(root: Path, tree: dict[str, str]) -> None:
    for package, source in tree.items():
        folder = root.joinpath(*package.split("."))
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").touch()
        (folder / "__init__.py").write_text(source + "\n")


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT_IMPORTS), "--no-cache", "--no-logo", str(PYPROJECT)]
    environ = os.environ | {"COLUMNS": "200"}
    return subprocess.run(command, cwd=root, env=environ, capture_output=True, text=True, check=False)


def test_a_tree_that_keeps_to_the_contracts_passes(tmp_path: Path) -> None:
    write_tree(tmp_path, CLEAN_TREE)

    result = lint_imports(tmp_path)

    assert result.returncode == 0, result.stdout
    assert f"Contracts: {len(contracts())} kept, 0 broken" in result.stdout


@pytest.mark.parametrize(("contract", "package", "statement"), VIOLATIONS)
def test_a_violation_breaks_its_contract(tmp_path: Path, contract: str, package: str, statement: str) -> None:
    """The tree is the clean one with one import more, so only that import can be the reason."""
    write_tree(tmp_path, CLEAN_TREE | {package: f"{CLEAN_TREE[package]}\n{statement}"})

    result = lint_imports(tmp_path)

    assert result.returncode == 1, result.stdout
    assert f"{contracts()[contract]['name']} BROKEN" in result.stdout


def test_every_contract_is_shown_red() -> None:
    """A contract that was never seen failing may be one that cannot fail."""
    assert {contract for contract, _, _ in VIOLATIONS} == set(contracts())


def test_every_package_has_its_place_in_the_layers() -> None:
    """A package that no layer names could import everything, and be imported by everything."""
    layers = " ".join(layer for contract in contracts().values() for layer in contract.get("layers", ()))
    placed = set(re.findall(r"[\w.]+", layers)) | OUTSIDE_THE_LAYERS

    found = {
        f"{root}.{path.stem}"
        for root in ("swarm", "worker")
        for path in (PYPROJECT.parent / root).iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }

    assert found - placed == set()
