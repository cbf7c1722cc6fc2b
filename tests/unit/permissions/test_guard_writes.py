"""Deletions and writes that are refused in every mode, however they are spelled."""

from __future__ import annotations

import os

import pytest

DELETIONS = [
    "rm -rf /",
    "rm -rf /*",
    "rm -rf --no-preserve-root /",
    "rm -fr ~",
    "rm -rf ~/",
    "rm -rf ~/*",
    "rm -rf $HOME",
    'rm -rf "$HOME"/*',
    "rm -r -f /etc",
    "rm --recursive /usr",
    "rm -R /usr/lib",
    "sudo rm -rf /var",
    "rm -rf .",
    "rm -rf ./",
    "rm -rf *",
    "rm -rf ./*",
    "rm -rf ..",
    "rm -rf ../..",
    "rm -rf {ws}",
    "rm -rf {base}",
    "rm -rf src/../../ws",
    "ls; rm -rf /",
    "bash -c 'rm -rf ~'",
    "cd / && rm -rf *",
    "rmdir {ws}",
    "find / -delete",
    "find ~ -name x -delete",
    "find / -exec rm {{}} +",
    "rm -rf link-to-home",
]


@pytest.mark.parametrize("command", DELETIONS)
def test_what_cannot_be_brought_back_is_not_deleted(world, command):
    """One wrong word would cost more than all the work of the team."""
    os.symlink(world.home, f"{world.ws}/link-to-home")

    decision = world.bash(command.format(ws=world.ws, base=world.base), allow=["Bash"])

    assert (decision.behavior, decision.why) == ("deny", "immune")


WRITES = [
    "echo x > .git/hooks/pre-commit",
    "echo x>>.git/config",
    "echo x >| .git/config",
    "cat x &> ~/.bashrc",
    "echo x | tee -a ~/.zshrc",
    "cp x .git/hooks/pre-commit",
    "cp -t .git/hooks x y",
    "mv .git/hooks/a .git/hooks/b",
    "rm -rf .git",
    "rm ~/.ssh/authorized_keys",
    "mkdir -p ~/.ssh",
    "ln -sf /x ~/.profile",
    "install -m 755 x .git/hooks/post-commit",
    "sed -i s/a/b/ ~/.gitconfig",
    "perl -pi -e s/a/b/ .git/config",
    "dd if=x of=.git/HEAD",
    "chmod +x .git/hooks/pre-commit",
    "touch .claude/settings.json",
    "echo '{}' > .claude/settings.local.json",
    "echo x > .mcp.json",
    "echo '{}' > ~/.claude.json",
    "echo x > ~/.claude/settings.json",
    "echo x > ~/.claude/CLAUDE.md",
    "cd .git && echo x > config",
    "bash -c 'echo x > .git/config'",
    "echo x > .GIT/config",
    "echo x > sub/.git",
]


@pytest.mark.parametrize("command", WRITES)
def test_files_that_are_run_or_obeyed_later_are_not_written(world, command):
    """A hook or a start-up file is code that runs outside of all permissions."""
    decision = world.bash(command, allow=["Bash"])

    assert (decision.behavior, decision.why) == ("deny", "immune")
