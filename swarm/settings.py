"""Every tunable number, in one place.

Durations are seconds as a person would say them; `Settings.scaled` multiplies all of them
(`SWARM_TIME_SCALE` in the environment), so that tests run the same code in less time.
"""

from __future__ import annotations

from swarm.values import Value

DEFAULT_MODEL = "claude-sonnet-5-5"
"""Model used when neither a flag, `ANTHROPIC_MODEL` nor the team file names one."""

SCRIPTED_MODEL = "scripted"
"""Model name that plays the scripts of a team file instead of calling a model."""


class Settings(Value):
    """Limits and durations; fields that end in `_seconds` follow the time scale, all others do not."""

    # Locks and files
    lock_timeout_seconds: float = 5.0
    inbox_max_messages: int = 128
    inbox_max_bytes: int = 256 * 1024
    inbox_overflow_max_bytes: int = 64 * 1024 * 1024
    task_file_padding: int = 128
    task_file_in_place_bytes: int = 4096  # one page: a larger or page-crossing write can be torn by SIGKILL
    history_keep_seconds: float = 30 * 86_400.0  # mail that was read longer ago goes when a team is pruned
    durability: str = "results"  # or "none": no fdatasync at all (tests, benchmarks)

    # A teammate's life
    ready_timeout_seconds: float = 30.0
    heartbeat_seconds: float = 5.0
    stalled_after_seconds: float = 60.0
    idle_check_seconds: float = 1.0
    idle_sweep_seconds: float = 60.0
    idle_pause_seconds: float = 0.01  # between two looks, however much happens meanwhile
    stop_timeout_seconds: float = 10.0
    order_wait_seconds: float = 5.0  # how long a command waits to see an order taken
    orphan_grace_seconds: float = 60.0
    in_process_teammates_max: int = 8
    terminal_timeout_seconds: float = 60.0  # for one call of tmux or iTerm2 on a machine that is very busy

    # Tasks
    verify_timeout_seconds: float = 600.0
    verify_returns_max: int = 2
    commit_timeout_seconds: float = 600.0  # the repository's hooks run in it
    attempts_max: int = 3
    crashes_max: int = 5
    restarts_max: int = 3  # new lives that a leader gives to one teammate that keeps dying
    verify_output_chars: int = 4_000

    # Money
    budget_wait_seconds: float = 120.0  # for others to leave enough of what they have set aside

    # Permission
    permission_deadline_seconds: float = 600.0
    permission_check_seconds: float = 0.1  # between two looks for the answer

    # Loop and tools
    turns_max: int = 200
    output_tokens_max: int = 8_000
    output_tokens_escalated: int = 64_000  # tried once where the limit above cut an answer off
    output_recoveries_max: int = 3  # further requests that ask the model to go on where it was cut off

    mail_talks_max: int = 20  # in a row, about nothing but mail of teammates: two that answer each other

    # The model service
    model_tries_max: int = 6
    model_retry_min_seconds: float = 1.0
    model_retry_max_seconds: float = 60.0
    model_retry_after_max_seconds: float = 600.0  # a service that asks for a longer wait ends the attempt
    model_connect_seconds: float = 30.0
    model_silence_seconds: float = 120.0  # without a byte, not even a ping
    model_progress_seconds: float = 600.0  # without a piece of the answer, whatever pings come
    model_overloads_max: int = 3  # in a row, then the fallback model is asked where there is one
    tool_concurrency_max: int = 10
    bash_timeout_seconds: float = 120.0
    bash_timeout_max_seconds: float = 600.0
    bash_kill_wait_seconds: float = 2.0
    result_max_chars: int = 50_000
    bash_result_max_chars: int = 30_000
    grep_result_max_chars: int = 20_000
    message_results_max_chars: int = 200_000
    result_fallback_max_chars: int = 100_000
    preview_bytes: int = 2_000
    read_lines_default: int = 2_000
    read_line_max_chars: int = 2_000
    read_file_max_bytes: int = 2_000_000
    read_part_file_max_bytes: int = 64_000_000
    read_result_max_chars: int = 100_000
    edit_file_max_bytes: int = 10_000_000
    file_lock_seconds: float = 5.0
    glob_results_max: int = 100
    grep_head_limit: int = 250
    grep_timeout_seconds: float = 30.0

    def scaled(self, factor: float) -> Settings:
        """Return these settings with every duration multiplied by `factor` (must be above 0)."""
        if factor == 1.0:
            return self
        changes = {f: getattr(self, f) * factor for f in self._fields if f.endswith("_seconds")}
        return self.replace(**changes)


def settings_from(environ: dict[str, str]) -> Settings:
    """Return the settings for this environment; a bad `SWARM_TIME_SCALE` is an error, not ignored."""
    from swarm.errors import ConfigError

    text = environ.get("SWARM_TIME_SCALE", "1")
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0.0 < factor < 1e6:  # noqa: PLR2004 - a scale past any test or soak run is a typing error
        raise ConfigError(
            f"SWARM_TIME_SCALE is {text!r}; give a number above 0", code="bad_value", details={"value": text}
        )
    return Settings().scaled(factor)
