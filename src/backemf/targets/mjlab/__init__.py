"""mjlab: the configuration, and its run on a CPU."""
