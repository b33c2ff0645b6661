"""Our actuators inside the real MuJoCo: compiled code that its engine calls at every step."""
