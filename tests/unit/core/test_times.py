from __future__ import annotations

import pytest

from swarm.core.times import format_time, parse_time


@pytest.mark.parametrize(
    ("epoch", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400, "2000-02-29T00:00:00.000Z"),
        (1_796_042_018.156, "2026-11-30T12:33:38.156Z"),
        (1_796_042_018.9996, "2026-11-30T12:33:39.000Z"),
        (4_107_542_399.999, "2100-02-28T23:59:59.999Z"),
    ],
)
def test_a_time_is_written_in_utc_with_milliseconds(epoch: float, text: str) -> None:
    """Among them the leap day of 2000, a year without one, and a rounding that carries."""
    assert format_time(epoch) == text
    assert parse_time(text) == pytest.approx(epoch, abs=0.001)


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T00:00:00.25Z", 0.25),
        ("1970-01-01T02:00:00+01:30", 1800.0),
        ("1969-12-31T23:00:00.000-01:00", 0.0),
        ("1970-01-01T00:00:00.123456789Z", 0.123456789),
    ],
)
def test_times_of_other_programs_are_understood(text: str, epoch: float) -> None:
    assert parse_time(text) == pytest.approx(epoch)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-11-30 12:33:38Z",
        "2026-11-30T12:33:38",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z",
        "٢٠٢٦-01-01T00:00:00Z",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        parse_time(text)
