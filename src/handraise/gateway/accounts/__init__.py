"""Servers that want to know their person: an account of each person's own, which the gateway keeps for them."""
