"""Tables: CSV, TSV and XLSX files are read, cleaned and queried in an in-process database that sees nothing else."""
