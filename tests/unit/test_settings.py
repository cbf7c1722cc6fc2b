"""Settings: one scale for all durations."""

from __future__ import annotations

import pytest

from swarm.errors import ConfigError
from swarm.settings import Settings, settings_from


def test_the_scale_changes_durations_and_nothing_else() -> None:
    """Tests run the same code in less time, with the same limits."""
    scaled = settings_from({"SWARM_TIME_SCALE": "0.5"})
    assert scaled.lock_timeout_seconds == Settings().lock_timeout_seconds / 2
    assert scaled.attempts_max == Settings().attempts_max
    assert scaled.inbox_max_bytes == Settings().inbox_max_bytes
    assert settings_from({}) == Settings()


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "fast"])
def test_a_bad_scale_is_refused(text: str) -> None:
    """A scale that is silently ignored would make a test pass for the wrong reason."""
    with pytest.raises(ConfigError, match="SWARM_TIME_SCALE"):
        settings_from({"SWARM_TIME_SCALE": text})
