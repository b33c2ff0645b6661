"""What can be worked out from an actuator or from bench readings: curves, conversions, constants."""
