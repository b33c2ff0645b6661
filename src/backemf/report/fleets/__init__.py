"""The report of a fleet."""
