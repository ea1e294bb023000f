"""Stored trials become costs and verdicts; a pure function of the plan and the trials.

A cell is compared with the *baseline cell* that has its workload, parameters and limits, block by
block. A *cost* is a ratio that is above 1 if the cell is worse, whichever way the metric improves.

**Looks.** Pairs are taken in order of block. A comparison looks at its first 3 to 7 pairs, for what
is obvious (``tare.results.stats.early``), at its first 8, 11, 15, ... and never in between
(``tare.results.stats.schedule``); when the last planned block has been run, what there is is the
last look. The cost and the interval printed are those of the last look reached; later pairs wait
for the next one. All intervals of all looks hold together with 95 %. The verdict and the stop
reason are those of the first look at which the interval left out 1 or lay inside the margin, and
stay: the cell could leave the study then, so what comes later must not take it back.

**Failures.** They count alike on both sides; otherwise identical platforms that fail now and then
would be called different. A trial that failed, did not respond or gave a value that has no ratio is
the worst there is: its pair keeps its rank in the test, against the cell or, if the baseline
failed, for it. Of what is better when lower, such as loss, 0 is no failure but the best there is:
it too has no ratio and keeps its rank, and where both have 0 they are equal. A block in which both
failed says nothing about which is better and is left out, and so is one in which either has no
number for another reason: it has no trial, is unavailable, lacks the metric. From a quarter of
pairs without a ratio on no cost is given, and nothing is called the same. All of it is counted and
shown with the number.

**Variants.** A workload's first metric is compared three times, where the host kept account of its
trials: by wall time, by that less foreign delay, and by CPU time; the plan says which decides.

Inside, a module imports only those before it: ``contention`` (the variants of a trial's time),
``flag`` and ``reason`` (what is to be known of a number, and why there is none, by kind;
``tare.present.view.flags`` and ``tare.present.view.reasons`` word them), ``suspects`` (why a trial
is one), ``pairing`` (trials to pairs), ``comparison`` (the record of two cells compared),
``estimate`` (pairs to a cost and a verdict), ``estimates`` (those of a study, each made once),
``family`` (what all comparisons of a study say of one), ``summary`` (a cell on its own) and
``result_set`` (one of several results). What may be wrong with a comparison is found by
``tare.results.checks``, what is asked of comparisons is answered by ``tare.results.questions``, and
``tare.results.study`` puts all of it together.
"""
