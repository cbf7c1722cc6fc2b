"""Record the example `ask`: three questions of a run in tmux, and the answers that a person types.

Run it with `make picture`. The run is real but for its model, and it goes on because it was answered.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from picture import SWARM, Terminal, environ_in, target, write

COLUMNS, ROWS = 100, 30
EXAMPLE = Path(__file__).parents[1] / "teams_examples" / "ask"
READS_SECONDS = 2.5
"""How long the person reads before answering."""
GIT = ("git", "-c", "user.name=you", "-c", "user.email=you@example.org")


def prepare(folder: Path) -> None:
    """Lay the example out as a repository of its own."""
    shutil.copytree(EXAMPLE / "shop", folder / "shop")
    shutil.copy(EXAMPLE / "team.yaml", folder)
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "The shop")):
        subprocess.run([*GIT, *words], cwd=folder, check=True)


def answer(terminal: Terminal, shown: str, words: str) -> None:
    """Wait for the question, read it, and type the answer."""
    terminal.until(shown)
    terminal.look(READS_SECONDS)
    terminal.type(words)
    terminal.look(0.6)
    terminal.type("\r")


def main() -> None:
    """Record the run into the file named on the command line."""
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as home:
        folder = Path(home, "app")
        folder.mkdir()
        Path(home, ".gitconfig").write_text("[user]\nname = you\nemail = you@example.org\n")
        prepare(folder)
        command = [SWARM, "run", "team.yaml", "--backend", "tmux"]
        terminal = Terminal((COLUMNS, ROWS), command, str(folder), environ_in(home))
        for number in (1, 2):
            terminal.until(f"#{number} ")
        for number in (1, 2):
            answer(terminal, f"#{number} ", f"y {number}")
        answer(terminal, "hands in a plan", "y 3")
        terminal.to_the_end()
    title = "swarm run: three questions of teammates, and what is typed to answer them"
    write(target(), terminal.frames, title, COLUMNS, {home: "~"})


if __name__ == "__main__":
    main()
