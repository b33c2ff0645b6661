"""Physics, written once: pure scalar functions JAX can trace."""
