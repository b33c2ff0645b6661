"""kS, kV, kA and kG of a mechanism, and what robot programs make of them."""
