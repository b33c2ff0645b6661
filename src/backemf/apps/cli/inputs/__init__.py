"""What a command was given: actuators, benches, commands."""
