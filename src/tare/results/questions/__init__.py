"""What is asked of comparisons that are made: of a study, of several, and of a mix of work."""
