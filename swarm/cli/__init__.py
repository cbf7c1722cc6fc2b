"""The `swarm` command: composes everything below it and decides nothing itself."""
