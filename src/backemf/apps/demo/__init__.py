"""The demonstration: a simulated servo, its story and its recordings."""
