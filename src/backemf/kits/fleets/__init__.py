"""Thousands of fits, what units have in common, which do not belong, and how they age."""
