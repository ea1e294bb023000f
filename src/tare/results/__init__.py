"""From stored trials to verdicts: pure functions that start no process and draw nothing.

Each part imports only those before it: ``stats`` and ``store``, ``compare`` (the estimate of two
cells), ``checks`` (what may be wrong with it), ``questions`` (what is asked of them), ``study``
(all of a study), ``published`` (studies of others).
"""
