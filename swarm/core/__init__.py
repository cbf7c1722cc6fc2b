"""Decisions as pure functions over values: no disk, no clock, no process, no log."""
