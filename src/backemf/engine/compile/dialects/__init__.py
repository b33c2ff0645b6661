"""One file a language: a table of words and the frame of a file."""
