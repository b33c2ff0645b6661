"""What other programs read of our playbacks."""
