"""Completion scripts know every verb and flag, because they are made from the table."""

import shutil
import subprocess

import pytest

from swarm.cli.completion import render
from swarm.cli.table import VERBS
from tests.unit.cli.conftest import Swarm

DRIVE = """
{script}
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_swarm
echo "${{COMPREPLY[*]}}"
"""


def completed(*words: str) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in ("swarm", *words))
    script = DRIVE.format(script=render("bash"), words=quoted)
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return ran.stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_names_every_verb_and_flag(swarm: Swarm, shell: str) -> None:
    script = swarm("completion", shell).out

    for verb in VERBS:
        assert verb.path[-1] in script
        for option in verb.options:
            assert option.label.removeprefix("--") in script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_right_for_its_shell(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=render(shell), text=True, check=True, timeout=10)


def test_bash_completes_verbs_flags_and_values() -> None:
    assert completed("sta") == ["status"]
    assert completed("task", "l") == ["list"]
    assert completed("-t", "task", "te") == ["team"]
    assert completed("task", "list", "--st") == ["--status"]
    assert completed("task", "list", "--status", "c") == ["completed", "cancelled"]
    assert completed("team", "create", "x", "--w") == ["--workspace"]
    assert "--version" in completed("--v")


def test_another_shell_is_refused(swarm: Swarm) -> None:
    error = swarm("completion", "tcsh").err

    assert error == "error: there is no completion for 'tcsh'; give one of bash, zsh, fish\n"
