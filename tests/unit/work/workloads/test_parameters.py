"""What a workload refuses, and the sentence with which it does."""

import pytest

from tare.core.errors import ConfigError
from tare.work.workload import load

REFUSED = [
    ("sysbench_cpu", {"max_prime": 2}, "max_prime: 2 was given; expected 3 or more"),
    ("sysbench_cpu", {"time_s": 0}, "time_s: 0 was given; expected 1 or more"),
    ("sysbench_cpu", {"time_s": "none"}, "events: 0 was given; expected 1 or more"),
    ("sysbench_memory", {"time_s": "none"}, "total_bytes: 0 was given; without time it expects a"),
    (
        "sysbench_memory",
        {"time_s": "none", "total_bytes": 2**30, "threads": 3},
        "1073741824 was given; without time it expects a multiple of 3145728",
    ),
    ("sysbench_fileio", {"time_s": "none", "mode": "rndrd"}, "'rndrd' was given; without time it"),
    (
        "sysbench_fileio",
        {"time_s": "none", "total_bytes": 2**30 + 16384},
        "1073758208 was given; without time it expects whole blocks of 16384 in each file",
    ),
    ("fio", {"time_s": 0.05}, "time_s: 0.05 was given; expected 0.1 or more, or none"),
    ("fio", {"time_s": "none", "size_bytes": 4097}, "4097 was given; without time it expects whol"),
    ("sysbench_memory", {"oper": "none"}, "oper: 'none' was given; expected one of read, write"),
    ("sysbench_memory", {"block_bytes": 1000}, "1000 was given; expected a power of two"),
    ("sysbench_memory", {"block_bytes": 4}, "block_bytes: 4 was given; expected 8 or more"),
    ("sysbench_fileio", {"mode": "trim"}, "mode: 'trim' was given; expected one of seqwr"),
    ("sysbench_fileio", {"files": 64, "total_bytes": 2**10}, "total_bytes: 1024 was given; exp"),
    ("sysbench_fileio", {"direct": True, "block_bytes": 1000}, "direct expects a multiple of 512"),
    ("fio", {"pattern": "trim"}, "pattern: 'trim' was given; expected one of randread, randwrite"),
    ("fio", {"engine": "psync", "depth": 2}, "depth: 2 was given; the engine psync expects 1"),
    ("fio", {"size_bytes": 512}, "size_bytes: 512 was given; expected 4096 or more"),
    ("fio", {"block_bytes": 1000}, "block_bytes: 1000 was given; direct expects a multiple of 512"),
    ("mbw", {"size_bytes": 2**20 + 1}, "size_bytes: 1048577 was given; expected whole MiB"),
    ("command", {}, "missing 1 required keyword-only argument: 'run'"),
    ("command", {"run": " "}, "run: ' ' was given; expected a command"),
    ("command", {"run": "sh -c 'x"}, "expected a command: No closing quotation"),
    ("command", {"run": "x", "setup": " "}, "setup: ' ' was given; expected a command"),
    ("command", {"run": "x {port}"}, "run: 'x {port}' was given; a port or server expects serve"),
    ("command", {"run": "x", "serve": "y"}, "serve: 'y' was given; expected {port} in it"),
    ("command", {"run": "x", "pattern": "("}, "expected a regular expression: missing \\)"),
    ("command", {"run": "x", "pattern": "a"}, "pattern: 'a' was given; expected a group"),
    ("command", {"run": "x", "pattern": "(a)", "json_path": "a"}, "expected it or a pattern"),
    ("command", {"run": "x", "unit": "B/s"}, "pattern: neither it nor json_path was given"),
    ("command", {"run": "x", "factor": 0.001}, "pattern: neither it nor json_path was given"),
    ("command", {"run": "x", "json_path": "a", "unit": "1"}, "better: nothing was given"),
    ("command", {"run": "x", "json_path": "a", "factor": 0}, "factor: 0 was given; expected more"),
    ("command", {"run": "x", "unit": "ms"}, "unit: 'ms' was given; expected one of s, B, 1/s"),
    ("command", {"run": "x", "metric": "A b"}, "metric: 'A b' was given; expected small letters"),
    ("command", {"run": "x", "called": "a b"}, "called: 'a b' was given; expected letters, digits"),
    ("command", {"run": "x", "install": "a; b"}, "install: 'a; b' was given; expected Debian"),
    ("command", {"run": "x", "install": "gzip -foo"}, "'gzip -foo' was given; expected Debian"),
    ("command", {"run": "x", "install": "-x/gzip"}, "'-x/gzip' was given; expected Debian"),
    ("command", {"run": "x", "takes_s": -1}, "takes_s: -1 was given; expected 0 or more"),
    ("compile", {"jobs": 0}, "jobs: 0 was given; expected 1 or more"),
    ("compile", {"modules": "all"}, "modules: 'all' was given; expected one of most, few, none"),
    ("compile", {"builds": 129}, "builds: 129 was given; expected 128 at most"),
    ("multiuser", {"users": 0}, "users: 0 was given; expected 1 or more"),
    ("multiuser", {"user_jobs": 0}, "user_jobs: 0 was given; expected 1 or more"),
    ("mbw", {"method": "sse"}, "method: 'sse' was given; expected one of memcpy, dumb, mcblock"),
    (
        "fio",
        {"pattern": "randrw", "read_percent": 0},
        "read_percent: 0 was given; expected 1 to 99",
    ),
    ("fio", {"read_percent": 75}, "read_percent: 75 was given; expected with randrw"),
    (
        "fio_jobs",
        {"job": "[a]\nexec_prerun = rm x\n"},
        "'exec_prerun = rm x' was given; expected on",
    ),
    (
        "fio_jobs",
        {"job": "[a]\nioengine=exec\n"},
        "'ioengine=exec' was given; expected ioengine=sy",
    ),
    ("fio_jobs", {"job": "[a]\nrw=trim\n"}, r"'rw=trim' was given; expected rw=read\|write"),
    (
        "fio_jobs",
        {"job": "[a]\nfilename=a:/dev/sda\n"},
        "'filename=a:/dev/sda' was given; expected",
    ),
    (
        "fio_jobs",
        {"job": "[../a]\nrw=read\n"},
        r"'\[../a\]' was given; expected a job's name of let",
    ),
    ("fio_jobs", {"job": "[a]\nsize=$mb_memory\n"}, r"job: '\$' was given; expected plain words"),
    ("fio_jobs", {"job": "[a]\ndirect=0\n"}, "job: 'direct=0' was given; expected direct=1"),
    ("ioping", {"size_bytes": 2**20 + 1}, "size_bytes: 1048577 was given; expected whole MiB"),
    ("ioping", {"cached": True}, "cached: True was given; direct expects False"),
    ("dd_disk", {"size_bytes": 2**20 + 1}, "1048577 was given; expected whole blocks of 1048576"),
    ("dd_disk", {"block_bytes": 1000, "size_bytes": 1000}, "direct expects a multiple of 512"),
    ("linpack", {"size": 9}, "size: 9 was given; expected 10 or more"),
    ("linpack", {"time_s": 0}, "time_s: 0 was given; expected 0.1 or more"),
    ("linpack", {"core": "A B"}, "core: 'A B' was given; expected a name of OpenBLAS's"),
    ("hpl", {"rows": 0}, "rows: 0 was given; expected 1 or more"),
    ("hpl", {"size": 10}, "size: 10 was given; expected 100 or more"),
    ("hpl", {"core": "x;y"}, "core: 'x;y' was given; expected a name of OpenBLAS's"),
    ("integer_loop", {"iterations": 1000}, "1000 was given; expected 100000 or more"),
    (
        "stream",
        {"array_bytes": 2**23 + 4},
        "array_bytes: 8388612 was given; expected a multiple of",
    ),
    ("stream", {"runs": 1}, "runs: 1 was given; expected 2 or more"),
    ("dd_memory", {"direction": "copy"}, "'copy' was given; expected one of read, write"),
    ("dd_memory", {"block_bytes": 1}, "block_bytes: 1 was given; expected 512 or more"),
    ("iperf", {"direction": "both"}, "direction: 'both' was given; expected one of send, receive"),
    ("iperf", {"congestion": "cubic,reno"}, "'cubic,reno' was given; expected a kernel's name"),
    ("iperf", {"streams": 0}, "streams: 0 was given; expected 1 or more"),
    ("iperf_udp", {"rate_bits_per_s": 0}, "rate_bits_per_s: 0 was given; expected 1 or more"),
    ("iperf_udp", {"datagram_bytes": 65508}, "datagram_bytes: 65508 was given; UDP expects 65507"),
    ("netperf_rr", {"under_test": "both"}, "under_test: 'both' was given; expected one of server"),
    ("netperf_rr", {"congestion": ""}, "congestion: '' was given; expected a kernel's name"),
    ("netperf_stream", {"protocol": "udp", "message_bytes": 65508}, "65508 was given; udp expects"),
    ("sockperf", {"rate_per_s": 100}, "rate_per_s: 100 was given; expected 200 or more"),
    ("sockperf", {"message_bytes": 13}, "message_bytes: 13 was given; expected 14 or more"),
    (
        "sockperf",
        {"message_bytes": 65508},
        "message_bytes: 65508 was given; expected 65507 at most",
    ),
    ("oltp", {"database": "mysql"}, "'mysql' was given; expected one of mariadb, postgresql"),
    ("oltp", {"test": "delete"}, "test: 'delete' was given; expected one of read_write, read_only"),
    ("oltp", {"durability": "none"}, "durability: 'none' was given; expected one of full, second"),
    ("oltp", {"rows": 10}, "rows: 10 was given; expected 100 or more"),
    ("oltp", {"warm_up_s": -1}, "warm_up_s: -1 was given; expected 0 or more"),
    ("kv", {"operation": "del"}, "operation: 'del' was given; expected one of get, set"),
    ("kv", {"clients": 2000}, "clients: 2000 was given; expected 1000 at most"),
    ("kv", {"clients": 10, "requests": 20, "pipeline": 4}, "requests: 20 was given; expected 40"),
    ("kv", {"requests": 1001, "pipeline": 4}, "1001 was given; expected a multiple of pipeline, 4"),
    ("kv", {"value_bytes": 0}, "value_bytes: 0 was given; expected 1 or more"),
    ("kv", {"keys": 2**31}, "keys: 2147483648 was given; expected 2147483647 at most"),
    ("web_ab", {"server": "iis"}, "server: 'iis' was given; expected one of apache, lighttpd, ngi"),
    ("web_ab", {"clients": 60, "requests": 50}, "requests: 50 was given; expected 60 or more"),
    ("web_ab", {"clients": 20, "requests": 50}, "requests: 50 was given; expected 51 or more"),
    ("web_ab", {"clients": 30_000}, "clients: 30000 was given; expected 20000 at most"),
    ("web_rate", {"rate": 0}, "rate: 0 was given; expected 1 or more"),
    ("web_rate", {"rate": 2_000_000_000}, "rate: 2000000000 was given; expected 1000000 at most"),
    ("web_rate", {"connections": 0}, "connections: 0 was given; expected 1 or more"),
    ("web_capacity", {"quantile": "p42"}, "quantile: 'p42' was given; expected one of p50, p90, p"),
    ("web_capacity", {"high_rate": 300}, "high_rate: 300 was given; expected 400 or more"),
    ("web_capacity", {"high_rate": 1_000_001}, "1000001 was given; expected 1000000 at most"),
    ("web_capacity", {"objective_s": 0}, "objective_s: 0 was given; expected up to 1"),
    ("php_sql", {"operation": "update"}, "'update' was given; expected one of select, insert"),
    ("php_sql", {"count": 0}, "count: 0 was given; expected 1 or more"),
    ("php_sql", {"durability": "no"}, "durability: 'no' was given; expected one of full, second"),
]


@pytest.mark.parametrize(("name", "params", "sentence"), REFUSED)
def test_a_bad_parameter_is_refused_with_a_sentence(name, params, sentence):
    with pytest.raises(ConfigError, match=sentence) as refused:
        load(name, **params)

    assert str(refused.value).startswith(f"workload {name}: ")


BEYOND = [
    *("[../up]", "[/dev/loop0]", "[a/b]", "[.hidden]", "[a] rw=write", "[]", "[ a ]"),
    *("filename=../a", 'filename="/dev/null"', "filename=a:", "filename=", "filename=-"),
    *("directory=.", "directory = ../x", "name=../a", "filename_format=../a", "opendir=/"),
    *("mem=mmapshared:/x", "write_iops_log=x", "blktrace=1", "buffer_pattern='/x'"),
    *("ioengine=external:/x.so", "ioengine=", "include other.fio", "exec_postrun=rm x"),
    *("overwrite=0", "allow_file_create=1", "create_on_open=1", "create_only=1", "unlink=1"),
    *("randrepeat=1", "allrandrepeat=1", "randseed=1", "clocksource=cpu", "profile=act"),
    *("percentile_list=50", "lat_percentiles=0", "disable_lat=1", "gtod_reduce=1"),
    *("unified_rw_reporting=1", "group_reporting=0", "disk_util=1", "error_dump=1"),
    *("continue_on_error=all", "ignore_error=EIO", "verify=md5", "trim_percentage=50"),
    *("cpus_allowed=0", "nice=-20", "prio=0", "numa_cpu_nodes=0", "uid=0", "cgroup=x"),
    *("stonewall", "wait_for=a", "startdelay=1", "new_group", "exitall", "steadystate=bw:1%"),
    *("buffered=1", "direct=0", "direct", "ioscheduler=none", "rw=randtrim"),
    *("bs=4k\x0bfilename=/dev/sda", "bs=4k\r", "bs=`reboot`", "bs=4k\\"),
]


@pytest.mark.parametrize("line", BEYOND)
def test_a_job_may_neither_leave_its_directory_nor_undo_the_command(line):
    with pytest.raises(ConfigError, match="workload fio_jobs: job: "):
        load("fio_jobs", job=f"[j]\n{line}\nrw=read\nsize=4k\n")


JOB = """\
# a mix
[global]
  ioengine = libaio
direct=1
[reader-1]
rw=randread
bssplit=4k/60:64k/40
filename=one:two_2
; and
[writer_2]
readwrite=write
fsync=1
rate=10m
norandommap
"""


def test_a_job_of_the_load_s_own_options_is_taken_as_it_is():
    assert load("fio_jobs", job=JOB).job == JOB


def test_packages_are_separated_by_spaces_and_commas():
    def packages(install):
        return load("command", run="x", install=install).packages

    assert packages(" gzip, non-free/netperf  g++-12,") == ("gzip", "non-free/netperf", "g++-12")
    assert packages(" , ") == packages("") == ()
