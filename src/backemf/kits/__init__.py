"""Whole capabilities on top of the library: FRC mechanisms, the recorder, fleets of units."""
