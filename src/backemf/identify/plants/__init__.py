"""What carries joints: a bench, or a robot."""
