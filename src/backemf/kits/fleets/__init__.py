"""Fleets: thousands of fits on this machine or an existing scheduler, what units have in common, and how they
age."""
