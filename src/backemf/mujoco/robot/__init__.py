"""A robot as a bench: its dynamics along a recorded motion, contact, and all joints simulated together."""
