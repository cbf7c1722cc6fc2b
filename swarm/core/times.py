"""Times as text: UTC with milliseconds, `2026-11-30T12:33:38.156Z`.

Calendar arithmetic is done here because importing `datetime` would cost a short command more than
its work.
"""

from __future__ import annotations

import re
import time

_PATTERN = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):?(\d\d))", re.ASCII
)
_DAYS_IN_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def format_time(epoch: float) -> str:
    """Return seconds since 1970 as text, rounded to the millisecond."""
    seconds, millis = divmod(round(epoch * 1000), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{millis:03d}Z"


def parse_time(text: str) -> float:
    """Return seconds since 1970; offsets other than `Z` are understood. Anything else is a ValueError."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time like 2026-11-30T12:33:38.156Z: {text!r}")
    year, month, day, hour, minute, second = (int(part) for part in match.group(1, 2, 3, 4, 5, 6))
    in_range = 1 <= month <= len(_DAYS_IN_MONTH) and 1 <= day <= _DAYS_IN_MONTH[month - 1]
    if not (in_range and hour <= 23 and minute <= 59 and second <= 60):  # noqa: PLR2004 - the clock's own limits
        raise ValueError(f"no such time: {text!r}")
    whole = _days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - _offset(match)
    return whole + int((match.group(7) or "0").ljust(9, "0")) / 1e9


def _offset(match: re.Match[str]) -> int:
    sign, hours, minutes = match.group(8, 9, 10)
    if sign is None:
        return 0
    seconds = int(hours) * 3600 + int(minutes) * 60
    return -seconds if sign == "-" else seconds


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01. The year is taken to begin in March, so that a leap day is its last day."""
    if month <= 2:  # noqa: PLR2004 - January and February
        year, month = year - 1, month + 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719_469
