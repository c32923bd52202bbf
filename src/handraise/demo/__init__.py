"""A tour of a few minutes: a server that asks, in a temporary folder of notes, with every promise tried out."""
