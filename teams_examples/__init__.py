"""Team files that run as they are, each with the folder that its team works in. `swarm demo` plays `demo`."""
