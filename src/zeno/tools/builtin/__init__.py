"""The tools that ship with Zeno, one file per subject."""
