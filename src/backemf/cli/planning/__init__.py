"""Commands that say what to record."""
