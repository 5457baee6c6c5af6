"""The life of a run around the loop: start, prepare, drive, lease."""
