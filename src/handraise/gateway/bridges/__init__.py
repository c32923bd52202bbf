"""Bridges between a client of one era and a server of the other."""
