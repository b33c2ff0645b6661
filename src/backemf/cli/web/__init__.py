"""`backemf web`: the app in a browser, and the worker that runs its commands."""
