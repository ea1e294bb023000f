"""One module a scenario: how cells are measured. Plugins are found here too."""
