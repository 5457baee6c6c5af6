"""Suppliers of deeds: a Python function becomes a tool, wrappers add one concern each."""
