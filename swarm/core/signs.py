"""How a task's state is drawn, in one place: the sign, the same in ASCII, and its colour."""

from __future__ import annotations

SIGNS = {
    "completed": ("✔", "+", "green"),
    "in_progress": ("●", "*", "yellow"),
    "failed": ("✘", "x", "red"),
    "cancelled": ("⊘", "-", "dim"),
    "ready": ("○", "o", "cyan"),
    "blocked": ("·", ".", "dim"),
}
"""States are statuses, with `pending` told apart: `ready` can be claimed, `blocked` waits."""
