"""The leader of a run: starts teammates, watches the graph, ends the run and writes its report."""
