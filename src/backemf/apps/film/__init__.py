"""Films of a bench or a robot."""
