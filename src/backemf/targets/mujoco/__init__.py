"""MuJoCo's own formats."""
