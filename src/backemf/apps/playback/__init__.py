"""What happened over time, in files for programs in which people look at robots."""
