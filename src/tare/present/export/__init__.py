"""Results as CSV, JSON, Markdown and LaTeX."""
