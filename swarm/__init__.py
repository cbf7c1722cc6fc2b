"""Teams of coding agents that coordinate through files."""

__version__ = "0.1.0"
