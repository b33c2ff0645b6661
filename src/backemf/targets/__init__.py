"""Actuators to other people's formats, and back."""
