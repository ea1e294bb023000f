"""From verdicts to eyes: sentences, charts, pages, terminal tables, exported files."""
