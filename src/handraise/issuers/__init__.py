"""Safe requests to authorization servers, and the signatures that count."""
