"""`backemf fleet`: many units at once."""

from .commands import app as app
