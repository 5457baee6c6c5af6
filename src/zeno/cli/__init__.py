"""The command line: one file per command group. Draws events; decides nothing."""
