"""One agent's conversation on disk, and the mail that enters it."""
