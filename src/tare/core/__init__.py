"""What all other packages share: the data model, errors, and files that survive a crash."""
