"""Which motions tell most: a family of short ones, what each would say, and those worth their time."""
