"""Commands for whole robots."""
