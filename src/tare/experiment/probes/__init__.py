"""Low-cost reading of the host and of a platform's threads, around and during trials."""
