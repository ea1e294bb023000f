"""One trial: what a command's ends are, how it is run once and watched, and what it came to."""
