"""A robot's joints fitted together: what they share, what each has, and all of them simulated at once."""
