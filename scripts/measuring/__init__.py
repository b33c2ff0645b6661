"""What `scripts/measures.py` counts: the source, its names and docstrings, and the files that a call runs."""
