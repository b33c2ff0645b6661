"""What came from outside: datasheets, logs, stored nouns."""
