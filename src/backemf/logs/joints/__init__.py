"""Recordings of whole robots: whose channel is whose, what shares mean, and what contradicts the model."""
