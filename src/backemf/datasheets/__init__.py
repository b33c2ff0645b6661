"""Datasheets: what makers print, and what follows from it."""
