"""Several servers behind one gateway."""
