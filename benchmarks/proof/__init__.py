"""Designs held against each other on noise of known or recorded kind: Tare's and what is usual.

Pure simulation: no program is run and no clock is read. ``noise`` makes the logs of the times of
consecutive short trials; ``designs`` measures with them as Tare, or as others do; ``figures``
counts how often each was right; ``targets`` says which of METHOD.md's targets that meets.

A *path* is one simulated comparison. Sizes and effects are ratios minus one: 0.03 is 3 %.
"""
