"""The live page: a web server on the loopback that shows studies as they run, and only reads.

A *catalogue* is the folder that is served: one results directory, or several. ``glancing`` and
``watching`` read what a session appends, from where it last ended, and what it says that it is
doing; ``readings`` are what was sampled during the last trials; ``narrowing`` makes of trials the
intervals after each look; ``drawings`` and ``resources`` are the coordinates of the small pictures;
``telling`` puts a study into words, ``beside`` several; ``views`` are the pages, in parts that a
browser replaces when they change, made by ``markup``; ``server`` speaks HTTP. Nothing is read
unless somebody looks.
"""

from tare.present.live.catalogue import Catalogue
from tare.present.live.server import serving

__all__ = ["Catalogue", "serving"]
