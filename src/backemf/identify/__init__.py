"""Logs to numbers."""
