"""One module a study, by its key: ``analysis(rows)`` gives tables and findings."""
