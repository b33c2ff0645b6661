"""Films of a bench."""
