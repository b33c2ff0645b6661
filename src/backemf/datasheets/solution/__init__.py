"""A sheet solved as one weighted problem: its equations, unknowns, minimum, and the entries that agree."""
