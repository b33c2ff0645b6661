"""What can be wrong with a recording by itself: one file a kind of fault."""
