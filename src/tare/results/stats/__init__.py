"""Pure functions on numbers: what a set of paired log ratios says, and when it may be asked.

A *log ratio* is ln(value / baseline) of one block, turned so that positive is worse; it is +inf
where only the value is missing because its trial failed, and -inf where only the baseline is.
Nothing here knows of trials, files or clocks.
"""

from tare.results.stats.schedule import level, looks

__all__ = ["level", "looks"]
