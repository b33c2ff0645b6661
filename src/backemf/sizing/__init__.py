"""Which motor behind which gears a task needs, and what a battery and the heat allow."""
