"""Isaac Lab's configurations."""
