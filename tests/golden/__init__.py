"""Logs that two folds must read alike."""
