"""The team's files: every read and write of them, synchronous, correct under `kill -9`.

Order of locks: team creation, roster or one agent, tasks, one inbox, events; never two of a kind at once.
"""
