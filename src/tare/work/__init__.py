"""Workloads.

The benchmark tools that are run, their helper programs, and parsers of their output.
"""
