"""Zeno: a self-hosted agent platform. Import from the defining modules; this one is kept empty so that importing is cheap."""

__version__ = "0.1.0"
