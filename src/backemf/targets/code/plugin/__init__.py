"""A MuJoCo engine plugin in C: the text around an actuator's traced step."""
