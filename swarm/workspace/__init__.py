"""The folder that a team works in: its git repository, the commands run there, and the lock on it."""
