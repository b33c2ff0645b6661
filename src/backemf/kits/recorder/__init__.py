"""Recordings from real servos: buses, safety, motions, and a virtual servo to try them on."""
