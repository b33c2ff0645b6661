"""Figures and reports for people."""
