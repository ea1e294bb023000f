"""Figures: charts as Vega-Lite specifications, and pictures on a small SVG canvas."""
