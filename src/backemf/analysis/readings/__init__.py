"""Bench readings: one constant at a time."""
