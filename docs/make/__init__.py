"""The pages that are made from code: what they say is what the code does."""
