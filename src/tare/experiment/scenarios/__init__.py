"""The scenarios: one module each. Plug-ins are added to this package."""
