"""What a workload refuses, and the sentence with which it does."""

import pytest

from tare.errors import ConfigError
from tare.workload import load

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
