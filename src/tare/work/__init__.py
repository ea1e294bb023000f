"""Workloads and stressors.

The benchmark tools that are run, their helper programs, and parsers of their output; and the
programs with which a neighbour stresses one resource.
"""
