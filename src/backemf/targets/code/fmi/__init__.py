"""What an FMU is made of besides the actuator's C: its description, and its functions in each version."""
