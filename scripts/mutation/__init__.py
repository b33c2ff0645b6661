"""Changes of the source that the tests must notice: where they can be made, and the runs that judge them."""
