"""Calls that wait for a person longer than their client does: held, parked, kept, and gone on with."""
