"""The browser's side: a server for this machine alone that runs commands and shows what they answer."""
