"""What one command works with: its streams and environment, its team, and in whose name it acts."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from swarm.cli.render import as_json, paint
from swarm.core.breaking import hanging
from swarm.errors import ConfigError, StateError

if TYPE_CHECKING:
    from swarm.settings import Settings
    from swarm.storage.clock import SystemClock
    from swarm.storage.team import Team


class Io:
    """The streams and environment of one command. Results go to `out`; everything else goes to `err`."""

    def __init__(self, out: TextIO, err: TextIO, source: TextIO, environ: Mapping[str, str]) -> None:
        self.out = out
        self.err = err
        self.source = source
        self.environ = environ
        self.json = False
        self.verbose = False
        self.quiet = False
        self.takes_notes: Callable[[str], None] | None = None

    def apply(self, args: Mapping[str, Any]) -> None:
        """Take over what the parsed options say about output."""
        self.json = bool(args.get("json"))
        self.verbose = bool(args.get("verbose"))
        self.quiet = bool(args.get("quiet"))

    def print(self, text: str = "") -> None:
        """Write one result to stdout.

        A full disk is a `StateError` (io_error); a reader that has gone is left to the entry point.
        """
        try:
            self.out.write(f"{text}\n")
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritten(error) from error

    def print_line(self, text: str, style: str = "", *, label: str = "", indent: int = 4) -> None:
        """Write one result that holds foreign text; what has no room on a terminal stands behind a margin.

        All of it is coloured, or the `label` where it stands first.
        """
        for row in self.rows(text, style, label=label, indent=indent):
            self.print(row)

    def rows(self, text: str, style: str = "", *, label: str = "", indent: int = 4) -> list[str]:
        """Return what `print_line` writes."""
        first, *rest = hanging(text, self.columns, indent)
        if label:
            return [first.replace(label, paint(label, style, enabled=self.color), 1), *rest]
        return [paint(row, style, enabled=self.color) for row in (first, *rest)]

    def print_json(self, value: object) -> None:
        """Write one object and a line end to stdout, at once, so that a follower sees it."""
        self.print(as_json(value))
        self.flush()

    def flush(self) -> None:
        """Hand over what was printed; fails like `print`."""
        try:
            self.out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> Exception:
        """Return what a failed write means: it is lost, or a terminal was closed and nobody reads."""
        if error.errno == errno.EIO and stat.S_ISCHR(os.fstat(self.out.fileno()).st_mode):
            return BrokenPipeError(error.errno, error.strerror)
        return _not_written(error)

    def note(self, text: str) -> None:
        """Say something to a person beside the result, on stderr; `-q` and `--json` silence it.

        Nobody has to listen: when stderr is closed or full the command goes on without a word. Whoever
        draws over the terminal `takes_notes` meanwhile, to pass them on later.
        """
        if self.quiet or self.json:
            return
        if self.takes_notes is not None:
            self.takes_notes(text)
            return
        self._say(text)

    def urge(self, text: str) -> None:
        """Say what cannot wait until the end: `-q` lets it through, and so does `--json` on a terminal.

        There is no room for it where a program may read our stderr.
        """
        if not self.json or self.err.isatty():
            self._say(text)

    def _say(self, text: str) -> None:
        rows = [row for line in text.split("\n") for row in hanging(line, self.error_columns, 2)]
        try:
            self.err.writelines(f"{row}\n" for row in rows)
            self.err.flush()
        except OSError:
            self.quiet = True

    def is_terminal(self) -> bool:
        return self.out.isatty()

    @property
    def color(self) -> bool:
        """Whether results may be coloured: on a terminal that can, unless `NO_COLOR` is set."""
        return self.is_terminal() and self._color_wanted()

    @property
    def color_errors(self) -> bool:
        """The same for stderr."""
        return self.err.isatty() and self._color_wanted()

    def _color_wanted(self) -> bool:
        return not self.environ.get("NO_COLOR") and self.environ.get("TERM") != "dumb"

    @property
    def columns(self) -> int | None:
        """Width of the terminal; None where the output is none, or its width cannot be told."""
        return _size_of(self.out)[0] or None

    @property
    def error_columns(self) -> int | None:
        """The same for stderr."""
        return _size_of(self.err)[0] or None

    @property
    def lines(self) -> int | None:
        """Height of the terminal of the output, likewise."""
        return _size_of(self.out)[1] or None

    @property
    def unicode(self) -> bool:
        """Whether symbols beyond ASCII can be written."""
        return (getattr(self.out, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"

    @property
    def root(self) -> str:
        """The folder that holds teams and tasks: `$CLAUDE_CONFIG_DIR`, or its default."""
        from swarm.storage.layout import config_root

        return config_root(self.environ)

    @property
    def settings(self) -> Settings:
        """Every tunable number, at this environment's time scale."""
        from swarm.settings import settings_from

        return settings_from(dict(self.environ))

    @property
    def clock(self) -> SystemClock:
        from swarm.storage.clock import SystemClock

        return SystemClock()


def _size_of(stream: TextIO) -> tuple[int, int]:
    """Return columns and lines of the terminal that a stream is; zeros where it is none."""
    try:
        return os.get_terminal_size(stream.fileno()) if stream.isatty() else (0, 0)
    except (OSError, ValueError):
        return 0, 0


def the_team(args: Mapping[str, Any], io: Io) -> Team:
    """Open the team that `-t`, `$SWARM_TEAM` or the lack of a second one names."""
    from swarm.core.identity import check_name
    from swarm.storage.team import default_team, open_team

    given = args.get("team")
    name = given if given is not None else default_team(io.root, io.environ)
    return open_team(io.root, check_name(name, what="team"), io.settings, io.clock)


def team_to_change(args: Mapping[str, Any], io: Io) -> Team:
    """Open the team as `the_team` does, for a verb that changes it.

    Raises:
        StateError: An agent's life started this command, and is over in that team (wrong_agent).

    """
    team = the_team(args, io)
    run_id = io.environ.get("SWARM_RUN_ID", "")
    agent = io.environ.get("SWARM_AGENT")
    if agent and run_id and io.environ.get("SWARM_TEAM", team.name) == team.name:
        from swarm.storage.dead import is_outlived

        if is_life_of(run_id, agent) and is_outlived(team, run_id):
            raise StateError(
                f"this command was left running by {agent}, whose life {run_id} is over in team {team.name}; "
                "end it: nothing that it says is taken",
                code="wrong_agent",
                details={"agent": agent, "run_id": run_id},
            )
    return team


def is_life_of(run_id: str, name: str) -> bool:
    """Tell whether a run id is one of a life of this agent."""
    from swarm.core.identity import parse_run_id

    try:
        return parse_run_id(run_id).agent == name
    except ValueError:
        return False


def actor(io: Io) -> str:
    """Return who acts at this command line: the agent that runs it, else the person."""
    from swarm.core.identity import USER

    return _checked(io.environ.get("SWARM_AGENT") or None) or USER


def only_for_people(io: Io, what: str, team: Team | None = None) -> None:
    """Refuse (denied) when an agent's command asks for something that is a person's to decide.

    Of an agent of this `team` that is seen as well where the command does not say so itself.
    """
    agent = io.environ.get("SWARM_AGENT")
    if not agent and team is not None:
        from swarm.storage.ancestry import find_agent_above

        agent = find_agent_above(team)
    if agent:
        raise StateError(
            f"{agent} is an agent; only a person may {what}", code="denied", details={"agent": agent}
        )


def acting_as(args: Mapping[str, Any], io: Io) -> str | None:
    """Return the name given by `--as` or `$SWARM_AGENT`, checked; None without both.

    Raises:
        StateError: `--as` names another than the agent that runs this command (wrong_agent).

    """
    own, given = io.environ.get("SWARM_AGENT"), args.get("as_agent")
    if own and given is not None and given != own:
        raise StateError(
            f"this command runs as {own}, which cannot act as {given}; leave --as out",
            code="wrong_agent",
            details={"agent": own, "as": given},
        )
    return _checked(own or given)


def claimer(args: Mapping[str, Any], io: Io) -> str:
    """Return the name that claims or finishes a task; a person must say in whose name (bad_usage)."""
    name = acting_as(args, io)
    if name is None:
        raise ConfigError(
            "who claims or finishes it? give --as AGENT", code="bad_usage", details={"option": "--as"}
        )
    return name


def _checked(name: str | None) -> str | None:
    """Check a name that need not be on the roster. The leader and the person have reserved names."""
    from swarm.core.identity import LEADER, USER, check_name

    return name if name in {None, LEADER, USER} else check_name(name or "")


def _not_written(error: OSError) -> StateError:
    return StateError(
        f"the result could not be written: {error.strerror}; what the command did stays done",
        code="io_error",
        details={"path": "stdout", "errno": error.errno or 0},
    )
