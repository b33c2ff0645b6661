"""What a fit gives: numbers with their errors, scores, and draws from them."""
