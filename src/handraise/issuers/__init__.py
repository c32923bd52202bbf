"""Authorization servers, seen from outside: how they are asked, and which of their signatures count."""
