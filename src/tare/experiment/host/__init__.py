"""The controlling host: facts, conditions for fair measurements, settings to tune."""
