"""Recordings become Logs in SI."""
