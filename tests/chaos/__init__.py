"""`kill -9` at every persistence boundary, seeded trials, figures printed."""
