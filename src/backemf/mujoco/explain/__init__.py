"""What `explain` stands on: known servos, findings, the comparison with a part, and its text."""
