"""One module per stressor; the module's name is the stressor's name, its class is ``Stressor``."""
