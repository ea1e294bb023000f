"""The host that runs Tare: its facts, conditions for fair measurements, settings to tune."""
