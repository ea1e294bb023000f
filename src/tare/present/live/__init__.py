"""The live page: a web server on the loopback that shows studies as they run, and only reads.

A *catalogue* is the folder that is served: one results directory, or several. ``overview`` counts
the trials of a study and ``study_reader`` reads all of it, both only what is new; ``samples`` are
the last trials' CPU time and memory, and ``looks`` the intervals after each look at the trials.
``study_view`` is one study in words, ``compared`` several; ``drawings`` and ``resources`` are the
coordinates of small pictures; ``views`` are the pages, in parts that a browser replaces when they
change, made by ``markup``; ``server`` speaks HTTP. Nothing is read unless somebody looks.
"""

from tare.present.live.catalogue import ResultsCatalogue
from tare.present.live.server import serving

__all__ = ["ResultsCatalogue", "serving"]
