"""What every presentation shows: rows, sentences and scaled numbers made of verdicts."""
