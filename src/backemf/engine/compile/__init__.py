"""A traced step, lowered and written in other languages."""
