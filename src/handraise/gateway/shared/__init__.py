"""One gateway for several people: admission, and a desk for each person."""
