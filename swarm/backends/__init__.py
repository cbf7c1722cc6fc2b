"""Ways to run a teammate."""
