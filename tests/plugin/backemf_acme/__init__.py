"""What the workshop of Acme adds to backemf; docs/extend.md walks through it."""
