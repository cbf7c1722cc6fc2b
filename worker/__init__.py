"""One agent: its loop, its tools and its conversation."""
