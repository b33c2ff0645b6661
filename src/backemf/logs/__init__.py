"""What was recorded: logs, robots they belong to, and readers of every format."""
