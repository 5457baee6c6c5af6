"""What is kept: one file per thing stored, SQL only."""
