"""Text from the other side, made inert before anyone sees it."""
