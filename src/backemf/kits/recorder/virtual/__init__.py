"""A servo that is not there: the model's physics behind the real registers of a real protocol."""
