"""Figures as data, what they show, and how they are drawn."""
