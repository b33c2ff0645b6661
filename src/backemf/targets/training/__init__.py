"""Files for learning environments."""
