"""Streamable HTTP: clients in front of the gateway, and servers behind it."""
