"""What may be wrong with a comparison although it was made as planned: one module a check."""
