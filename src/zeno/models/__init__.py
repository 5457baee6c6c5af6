"""Suppliers of thought: one file per provider family behind the `ModelClient` port."""
