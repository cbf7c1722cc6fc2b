"""Bash: a shell command, bounded in time and output."""

from __future__ import annotations

from pydantic import Field

from swarm.settings import Settings
from swarm.workspace.commands import OUTPUT_HARD_CAP, CommandResult, run_shell
from worker.tools.contract import Tool, ToolContext, ToolInput, ToolOutput
from worker.tools.current import current_call
from worker.tools.shell_words import meaning_of_one, refused_program
from worker.tools.terminal_text import screen_text

_WITHOUT_TERMINAL = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTHONUNBUFFERED": "1",  # so that a time-out shows what was printed until then
}


class BashInput(ToolInput):
    """A command and how long it may take."""

    command: str = Field(min_length=1, description="The command, for bash.")
    timeout: float | None = Field(
        None,
        gt=0,
        description="Time limit in milliseconds. Larger values than the maximum count as the maximum.",
    )
    description: str | None = Field(
        None, description="What the command does, in five to ten words, for people who watch."
    )


class Bash(Tool[BashInput]):
    """Runs each command in a new shell without input; one that is ended takes all its children along."""

    name = "Bash"
    Input = BashInput

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.max_result_chars = settings.bash_result_max_chars

    def describe(self, settings: Settings) -> str:
        default, longest = settings.bash_timeout_seconds * 1000, settings.bash_timeout_max_seconds * 1000
        return (
            "Runs a command with bash and returns what it printed (output and errors together) and how "
            "it ended.\n\n"
            "For files there are better tools, which need fewer permissions and notice when somebody else "
            "changed a file:\n"
            "- find files by name: Glob, not find or ls\n"
            "- search in files: Grep, not grep or rg\n"
            "- read: Read, not cat, head or tail\n"
            "- change: Edit, not sed or awk\n"
            "- write: Write, not echo or a here-document\n"
            "- say something: your own text, not echo\n"
            "Use Bash for these only when no tool can do it.\n\n"
            "Running commands:\n"
            "- Each command gets a new shell in your working directory; `cd` and variables do not last. "
            "Use absolute paths, in double quotes when they hold spaces.\n"
            "- Before you make a file or folder, check that the folder above it is the right one.\n"
            "- There is no terminal and no input: a program that asks gets end of file, and full-screen "
            "programs (editors, pagers, monitors) are refused. Pass answers as options or arguments.\n"
            f"- The time limit is {default:,.0f} ms unless `timeout` says otherwise, {longest:,.0f} ms at "
            "most; then the command and all its children are ended.\n"
            "- What a command leaves in the background with `&` runs on and is not waited for; you are "
            "not told when it ends. Redirect its output to a file if you need it.\n"
            f"- Output above {settings.bash_result_max_chars:,} characters goes to a file, with a "
            f"preview here. A command that writes more than {OUTPUT_HARD_CAP >> 20} MiB is ended and has "
            "failed.\n\n"
            "Several commands: independent ones as several calls in one message; dependent ones in one "
            "call joined by `&&`, so that a failure stops the rest; `;` only when a failure does not "
            "matter. Do not separate commands by line breaks: a failure between them passes unseen.\n"
            "- No `sleep` between commands that can run at once, and no loop that sleeps and tries "
            "again: find the cause instead. If waiting cannot be avoided, 1 to 5 seconds.\n\n"
            "Git, unless your task asks for exactly that:\n"
            "- Do not commit: the runtime commits your files after their checks, with the right author. "
            "If you are asked to, make a new commit and do not amend (after a failed hook, amending would "
            "change the commit before), and stage files by name, since others work here too.\n"
            "- NEVER destroy work: no forced push, hard reset, checkout or restore of everything, forced "
            "clean, deletion of branches. Look for the safer way to the same goal.\n"
            "- Never skip hooks or signing, and never change git's configuration: both belong to people."
        )

    async def check(self, given: BashInput, context: ToolContext) -> str | None:
        if "\0" in given.command:
            return "The command holds a NUL character, which no shell takes; leave it out."
        if not given.command.strip():
            return "The command is empty; give the command to run."
        return refused_program(given.command)

    async def run(self, given: BashInput, context: ToolContext) -> ToolOutput:
        settings, call_id = context.settings, current_call.get()
        wanted = settings.bash_timeout_seconds if given.timeout is None else given.timeout / 1000
        try:
            result = await run_shell(
                given.command,
                context.cwd,
                context.environ | _WITHOUT_TERMINAL,
                min(wanted, settings.bash_timeout_max_seconds),
                settings.read_file_max_bytes,  # so that what is kept in a file can be read by Read
                lambda pgid, ticks: context.track.started(call_id, self.name, pgid, ticks),
                kill_wait=settings.bash_kill_wait_seconds,
            )
        finally:
            context.track.ended(call_id)
        return _render(given.command, result)


def _render(command: str, result: CommandResult) -> ToolOutput:
    output = screen_text(result.output).rstrip()
    if result.error is not None:
        told = f"The command was not run to its end: {result.error}."
        printed = f"What it printed until then:\n{output}" if output else "It had printed nothing until then."
        return ToolOutput(text=f"{told}\n{printed}", is_error=True)
    notes = []
    meaning = meaning_of_one(command, output) if result.exit_code == 1 else None
    if result.exit_code:
        notes.append(f"[exit code {result.exit_code}{': ' if meaning else ''}{meaning or ''}]")
    if result.left_running:
        pids = ", ".join(map(str, result.left_running))
        notes.append(f"[still running in the background: process {pids}]")
    text = "\n".join([output, *notes] if output else notes)
    return ToolOutput(text=text, is_error=result.exit_code != 0 and meaning is None)
