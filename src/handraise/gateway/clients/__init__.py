"""Known clients: their configuration files, how to rewrite them, and how each client asks."""
