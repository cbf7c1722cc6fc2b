"""What one agent knows: who it is, and what a session starts with."""
