"""The words and the loop. Knows values and ports; does no I/O of its own and imports no supplier."""
