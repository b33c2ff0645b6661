"""Descriptions of robots: URDF, SDF, and URDF with Drake's own elements; all three run in Drake."""
