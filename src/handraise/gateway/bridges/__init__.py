"""Servers of the other era than their client's: each looks to the other like one of its own."""
