"""The tools: the only way in which an agent touches the world. One module for each."""
