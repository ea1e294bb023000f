"""What a workload refuses, and the sentence with which it does."""

import pytest

from tare.errors import ConfigError, OutputNotUnderstood
from tare.workload import Output, load

REFUSED = [
    ("sysbench_cpu", {"max_prime": 2}, "max_prime: 2 was given; expected 3 or more"),
    ("sysbench_cpu", {"time_s": 0}, "time_s: 0 was given; expected 1 or more"),
    ("sysbench_memory", {"oper": "none"}, "oper: 'none' was given; expected one of read, write"),
    ("sysbench_memory", {"block_bytes": 1000}, "1000 was given; expected a power of two"),
    ("sysbench_memory", {"block_bytes": 4}, "block_bytes: 4 was given; expected 8 or more"),
    ("sysbench_fileio", {"mode": "rndrw"}, "mode: 'rndrw' was given; expected one of seqwr, rn"),
    ("sysbench_fileio", {"files": 64, "total_bytes": 2**10}, "total_bytes: 1024 was given; exp"),
    ("sysbench_fileio", {"direct": True, "block_bytes": 1000}, "direct expects a multiple of 512"),
    ("fio", {"pattern": "trim"}, "pattern: 'trim' was given; expected one of randread, randwrite"),
    ("fio", {"engine": "psync", "depth": 2}, "depth: 2 was given; the engine psync expects 1"),
    ("fio", {"size_bytes": 512}, "size_bytes: 512 was given; expected 4096 or more"),
    ("fio", {"block_bytes": 1000}, "block_bytes: 1000 was given; direct expects a multiple of 512"),
    ("mbw", {"size_bytes": 2**20 + 1}, "size_bytes: 1048577 was given; expected whole MiB"),
    ("mbw", {"method": "sse"}, "method: 'sse' was given; expected one of memcpy, dumb, mcblock"),
]


@pytest.mark.parametrize(("name", "params", "sentence"), REFUSED)
def test_a_bad_parameter_is_refused_with_a_sentence(name, params, sentence):
    with pytest.raises(ConfigError, match=sentence) as refused:
        load(name, **params)

    assert str(refused.value).startswith(f"workload {name}: ")


CONTRADICTIONS = [
    ("sysbench_cpu/threads-2", {"max_prime": 10000, "threads": 2}, "number of events: ", "1"),
    ("sysbench_cpu/threads-2", {"max_prime": 10000, "threads": 2}, "events per second: ", "1"),
    ("sysbench_memory/write", {"threads": 2}, "total number of events: ", "1"),
    ("sysbench_fileio/seqwr", {}, "total number of events: ", "1"),
    ("sysbench_fileio/seqwr", {}, "written, MiB/s: ", "1"),
    ("fio/randread", {"time_s": 1}, '"io_bytes" : ', "1"),
    ("fio/randread", {"time_s": 10}, '"io_bytes" : ', ""),
    ("mbw/memcpy", {"runs": 3}, "AVG", "\tMethod: MEMCPY\tCopy: 1"),
    ("mbw/memcpy", {"runs": 4}, "AVG", "\t"),
]


@pytest.mark.parametrize(("case", "params", "label", "digits"), CONTRADICTIONS)
def test_an_output_that_contradicts_itself_is_refused(case, params, label, digits, recorded):
    text = recorded(case).replace(label, label + digits)

    with pytest.raises(OutputNotUnderstood, match="agree|average of"):
        list(load(case.partition("/")[0], **params).parse(Output(stdout=text)))
