"""Newton: the file, and its run on a CPU."""
