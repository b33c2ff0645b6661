"""Actuators as C: source for firmware and real-time loops, and what is built from it."""
