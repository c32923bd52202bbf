"""One gateway for several people: who is let in, and each at a desk of their own."""
