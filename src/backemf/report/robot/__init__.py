"""The report of a robot's fit: all its joints together, then each of them."""
