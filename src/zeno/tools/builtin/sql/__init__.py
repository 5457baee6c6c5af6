"""SQL databases: `tools.py` is where the model enters, `session.py` the port, and behind it one file per kind of database."""
