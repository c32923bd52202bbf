"""Processes and standard streams: one line for each message."""
