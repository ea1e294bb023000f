"""The live page: a web server on the loopback that shows studies as they run, and only reads.

A *catalogue* is the folder that is served: one results directory, or several. ``watching`` reads
what a session appends, from where it last ended; ``narrowing`` makes of it the intervals after each
look; ``drawings`` are the coordinates of the small pictures; ``views`` are the pages, in parts that
a browser replaces when they change; ``server`` speaks HTTP. Nothing is read unless somebody looks.
"""

from tare.live.catalogue import Catalogue
from tare.live.server import serving

__all__ = ["Catalogue", "serving"]
