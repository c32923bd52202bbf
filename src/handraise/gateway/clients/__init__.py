"""The clients that people have: where each keeps its servers, how their entries read, and what it can do."""
