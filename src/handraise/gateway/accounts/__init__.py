"""Accounts at servers that need sign-in: each person connects their own, and the gateway keeps the token."""
