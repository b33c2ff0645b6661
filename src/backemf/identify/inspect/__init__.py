"""What can be wrong with a recording by itself: of samples, of whole signals, and what mends them."""
