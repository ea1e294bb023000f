"""Every workload against output its tool really printed. A new workload adds files, not code."""

import json
import re
import tomllib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, MetricRole, Unit
from tare.work import workloads
from tare.work.workload import Output, load, names

HERE = Path(__file__).parent
CASES = {path: tomllib.loads(path.read_text()) for path in sorted(HERE.glob("*/*.toml"))}
GOOD = [path for path, case in CASES.items() if "samples" in case]
SOURCES = {f"{{{path.name}}}": path.read_text() for path in Path(workloads.__path__[0]).glob("*.c")}
DECIMAL = re.compile(r"(?<=\d)\.(?=\d)")

REQUIRED = {"command": {"run": "gzip --version", "install": "gzip"}}
"""Parameters that have no defaults."""

LAYING_IN_THE_RUN = {"compile", "multiuser"}
"""Workloads whose files are not prepared: they are a part of what is measured, or a role's."""


def ids(path):
    return f"{path.parent.name}/{path.stem}"


def loaded(path):
    return load(path.parent.name, **CASES[path]["params"])


def output(path):
    """What was recorded; the time of a command that is timed from outside stands in its case."""
    stderr = path.with_suffix(".stderr")
    return Output(
        stdout=path.with_suffix(".stdout").read_text(),
        stderr=stderr.read_text() if stderr.exists() else "",
        duration_s=CASES[path].get("duration_s", 0.0),
    )


def samples(workload, printed):
    return {s.metric.name: s.value for s in workload.parse(printed)}


def courses(workload, printed):
    """Every course as points; its times grow, and its metric is one of the workload's."""
    found = {}
    for one in workload.courses(printed):
        assert one.metric in workload.metrics
        assert list(one.times_s) == sorted(set(one.times_s))
        assert one.metric.name not in found
        found[one.metric.name] = list(zip(one.times_s, one.values, strict=True))
    return found


def words(argv):
    return None if argv is None else list(argv)


def prepared(case):
    """The words of a case's prepare; one such as {stream.c} stands for that source's text."""
    argv = case.get("prepare")
    return argv and [SOURCES.get(word, word) for word in argv]


@pytest.mark.parametrize("path", CASES, ids=ids)
def test_recorded(path):
    case, workload = CASES[path], loaded(path)

    assert case["argv"] == list(workload.command())
    assert prepared(case) == words(workload.prepare())
    role = next(iter(workload.roles()), None)
    assert case.get("role") == words(role and role.command)

    if "raises" in case:
        with pytest.raises(OutputNotUnderstood, match=case["raises"]):
            samples(workload, output(path))
    else:
        found = samples(workload, output(path))
        assert pytest.approx(case["samples"]) == found
        assert set(found) <= {metric.name for metric in workload.metrics}
        assert workload.metrics[0].name in found


@pytest.mark.parametrize("path", GOOD, ids=ids)
def test_what_was_recorded_over_time(path):
    given = CASES[path].get("courses", {})
    expected = {
        name: list(zip(one["times_s"], one["values"], strict=True)) for name, one in given.items()
    }

    if reason := CASES[path].get("courses_raise"):
        with pytest.raises(OutputNotUnderstood, match=reason):
            courses(loaded(path), output(path))
    else:
        found = courses(loaded(path), output(path))
        assert list(found) == list(expected)
        for name, points in found.items():
            for point, wanted in zip(points, expected[name], strict=True):
                assert point == pytest.approx(wanted)


@pytest.mark.parametrize("path", [path for path in GOOD if "courses" in CASES[path]], ids=ids)
def test_an_output_cut_anywhere_never_gives_another_course(path):
    workload, whole = loaded(path), output(path)
    found, text = courses(workload, whole), whole.stdout

    for length in range(0, len(text), 7):
        try:
            cut = courses(workload, replace(whole, stdout=text[:length]))
        except OutputNotUnderstood:
            continue
        for name, points in cut.items():
            assert set(points) <= set(found[name])


@pytest.mark.parametrize("name", names())
def test_an_output_of_nothing_has_no_course(name):
    workload = load(name, **REQUIRED.get(name, {}))

    with suppress(OutputNotUnderstood):
        assert courses(workload, Output("")) == {}


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("path", GOOD, ids=ids)
def test_an_output_cut_anywhere_never_gives_another_number(path, stream):
    workload, whole = loaded(path), output(path)
    found, text = samples(workload, whole), getattr(whole, stream)

    for length in range(len(text)):
        try:
            assert samples(workload, replace(whole, **{stream: text[:length]})) == found
        except OutputNotUnderstood:
            continue


@pytest.mark.parametrize("path", GOOD, ids=ids)
def test_decimal_commas_never_give_another_number(path):
    workload, whole = loaded(path), output(path)
    comma = {name: DECIMAL.sub(",", getattr(whole, name)) for name in ("stdout", "stderr")}

    with suppress(OutputNotUnderstood):
        assert samples(workload, replace(whole, **comma)) == samples(workload, whole)


ALTERED = [
    ("compile/serial", r"\nmake "),
    ("compile/serial", r"\nall "),
    ("compile/twice", r"(?s:build 2.*)\nwhole "),
    ("sysbench_cpu/threads-2", r"total number of events: +"),
    ("sysbench_cpu/threads-2", r"events per second: +"),
    ("sysbench_memory/write", r"total number of events: +"),
    ("sysbench_memory/write", r"transferred \("),
    ("sysbench_fileio/seqwr", r"total number of events: +"),
    ("sysbench_fileio/seqwr", r"written, MiB/s: +"),
    ("sysbench_cpu/fixed-work", r"total number of events: +"),
    ("sysbench_memory/fixed-work", r"total number of events: +"),
    ("sysbench_fileio/once-read", r"total number of events: +"),
    ("sysbench_fileio/once-written-synced", r"total number of events: +"),
    ("fio/whole-file-randrw-75", r'"read" : \{\s+"io_bytes" : '),
    ("fio/randread", r'"io_bytes" : '),
    ("fio/randread", r'"runtime" : (?=\d)'),
    ("mbw/memcpy", r"AVG.*Copy: "),
    ("mbw/memcpy", r"0\t.*Copy: "),
    ("multiuser/users-4", r"metrc: \[\d+\] hdd +"),
    ("multiuser/users-4", r"for a "),
    ("fio_jobs/readers-and-writer", r'"io_bytes" : '),
    ("fio_jobs/reader-ends-first", r'"bw_bytes" : '),
    ("fio/randrw-psync-20-jobs", r'"bw_bytes" : '),
    ("sysbench_fileio/rndrw", r"written, MiB/s: +"),
    ("ioping/read-direct", r'"stat": \{\s+"count": '),
    ("ioping/read-direct", r'"time": (?=.*\n.*"ignored": false)'),
    ("dd_disk/write-direct", r"copied, "),
    ("dd_disk/read-through-cache", r"records out\n"),
    ("linpack/haswell", r'"solve_s": '),
    ("linpack/haswell", r'"flops": '),
    ("hpl/ranks-1", r"HPL_time="),
    ("integer_loop/loop", r"user "),
    ("stream/threads-2", r'"triad".*"best_s": '),
    ("stream/threads-2", r'"copy": {"bytes": '),
    ("dd_memory/write", r"copied, "),
    ("dd_memory/read", r"out\n"),
    ("iperf/send-2-streams", r'"sum_received":\s+\{[^}]*"bytes":\s+'),
    ("iperf/send-2-streams", r'"sum_sent":\s+\{[^}]*"seconds":\s+'),
    ("iperf_udp/receive-lossy", r'"sum":\s+\{[^}]*"lost_packets":\s+'),
    ("iperf_udp/receive-lossy", r'"sum_received":\s+\{[^}]*"bits_per_second":\s+'),
    ("netperf_rr/tcp", r"LOCAL_SEND_CALLS="),
    ("netperf_rr/tcp", r"MEAN_LATENCY="),
    ("netperf_stream/tcp-send", r"REMOTE_BYTES_RECVD="),
    ("netperf_stream/udp-receive", r"REMOTE_RECV_THROUGHPUT="),
    ("sockperf/udp", r"Total (?=\d+ observations)"),
    ("sockperf/udp-server-stopped", r"Total (?=\d+ observations)"),
    ("sockperf/udp", r"Valid Duration\] RunTime="),
    ("web_ab/no-page", r"Non-2xx responses: +"),
    ("web_ab/apache", r"HTML transferred: +"),
    ("web_ab/apache", r"Requests per second: +"),
    ("web_rate/frozen", r'"sent": '),
    ("web_rate/frozen", r'"p99_s": '),
    ("web_capacity/lighttpd", r'"p95_s": '),
    ("fio/randread", r'"iops" : (?=[1-9])'),
    ("fio/randread", r'"total_ios" : (?=[1-9])'),
    ("fio/randread", r'"lat_ns" : \{[^}]*"mean" : (?=[1-9])'),
    ("fio/randread", r'"lat_ns" : \{[^}]*"N" : (?=[1-9])'),
    ("fio/randread", r'"99.000000" : (?=[1-9])'),
    ("fio_jobs/readers-and-writer", r'"99.000000" : (?=[1-9])'),
    ("ioping/read-direct", r'"stat": \{[^}]*"min": '),
    ("ioping/read-direct", r'"stat": \{[^}]*"max": '),
    ("iperf/send-2-streams", r'(?s:"sum_sent".*)"retransmits":\s+'),
    ("iperf/send-2-streams", r'"end":\s+\{\s+"streams":[^}]*"bytes":\s+'),
    ("iperf/send-2-streams", r'"end":\s+\{\s+"streams":[^}]*"retransmits":\s+'),
    ("iperf_udp/receive-lossy", r'"end":\s+\{\s+"streams":[^}]*"lost_packets":\s+'),
    ("mbw/memcpy", r"AVG.*Elapsed: "),
    ("mbw/memcpy", r"AVG.*MiB: "),
    ("netperf_rr/tcp", r"P50_LATENCY="),
    ("netperf_rr/tcp", r"P90_LATENCY="),
    ("sockperf/udp", r"Round trip is "),
    ("sockperf/udp", r"percentile 50.000 = +"),
    ("sockperf/udp", r"percentile 99.900 = +"),
    ("sockperf/udp", r"<MIN> observation = +"),
    ("sysbench_cpu/threads-2", r"95th percentile: +"),
    ("sysbench_cpu/threads-2", r" sum: +"),
    ("sysbench_cpu/threads-2", r"events \(avg/stddev\): +"),
    ("sysbench_fileio/rndrw", r"execution time \(avg/stddev\): +"),
    ("sysbench_memory/write", r"(?m:^)(?=\d+\.\d+ MiB transferred)"),
    ("web_ab/apache", r"\n50,"),
    ("web_ab/apache", r"\n99,"),
    ("oltp/mariadb", r"counted by the database: "),
    ("oltp/mariadb", r"  transactions: +"),
    ("oltp/mariadb", r"  write: +"),
    ("oltp/mariadb", r"95th percentile: +"),
    ("oltp/mariadb", r"\| +(?=[1-9])"),
    ("oltp/postgresql", r"counted by the database: "),
    ("kv/get", r"keyspace_hits:"),
    ("kv/get", r"keyspace_misses:"),
    ("kv/get", r"evicted_keys:"),
    ("kv/get", r"cmdstat_get:calls="),
    ("kv/set-pipelined", r"cmdstat_set:calls="),
    ("kv/set-pipelined", r"rejected_calls="),
    ("kv/set-pipelined", r"failed_calls="),
    ("kv/set-pipelined", r"keyspace_hits:"),
    ("kv/get", r"db0:keys="),
    ("kv/get", r"first value: "),
    ("kv/get", r"requests completed in "),
    ("kv/get", r"throughput summary: "),
    ("kv/get", r"\n  (?=\d+ parallel clients)"),
    ("kv/get", r"\n  (?=\d+ bytes payload)"),
    ("kv/get", r"100.000% .*cumulative count "),
    ("kv/get", r"max\n +"),
    ("kv/get", r"max\n +\S+ +"),
    ("kv/get", r"max\n +\S+ +\S+ +"),
    ("kv/get", r"max\n +\S+ +\S+ +\S+ +\S+ +"),
    ("php_sql/insert", r'"rows_after":'),
    ("php_sql/insert", r'"rows_before":'),
    ("php_sql/insert", r'"counted_by_server":'),
    ("php_sql/insert", r'"count":'),
    ("php_sql/select-once", r'"returned":'),
]


@pytest.mark.parametrize(("case", "label"), ALTERED)
def test_an_output_that_contradicts_itself_is_refused(case, label):
    path = HERE / f"{case}.toml"
    whole = output(path)
    altered = {
        name: re.sub(rf"({label})", r"\g<1>9", getattr(whole, name), count=1)
        for name in ("stdout", "stderr")
    }
    assert altered != {"stdout": whole.stdout, "stderr": whole.stderr}

    with pytest.raises(OutputNotUnderstood, match=r"agree|average"):
        samples(loaded(path), replace(whole, **altered))


NOTHING = [
    ("fio/randread", r'"lat_ns" : \{[^}]*"mean" : (?=[1-9])'),
    ("fio/randread", r'"99.000000" : (?=[1-9])'),
    ("fio_jobs/readers-and-writer", r'"99.000000" : (?=[1-9])'),
    ("ioping/read-direct", r'"time": (?=.*\n.*"ignored": false)'),
    ("netperf_rr/tcp", r"P50_LATENCY="),
    ("sockperf/udp", r"percentile 50.000 = +"),
    ("sysbench_cpu/threads-2", r" sum: +"),
    ("web_ab/apache", r"\n50,"),
    ("web_rate/nginx", r'"p50_s": '),
    ("kv/get", r"max\n +"),
    ("kv/get", r"max\n +\S+ +\S+ +"),
    ("php_sql/select-once", r'"nanoseconds":'),
]


@pytest.mark.parametrize(("case", "label"), NOTHING)
def test_a_latency_of_0_is_refused(case, label):
    path = HERE / f"{case}.toml"
    whole = output(path)
    zero = re.sub(rf"({label})[\d.]+", r"\g<1>0.000", whole.stdout, count=1)
    assert zero != whole.stdout

    with pytest.raises(OutputNotUnderstood, match="agree"):
        samples(loaded(path), replace(whole, stdout=zero))


def test_a_request_of_ioping_that_took_no_time_is_refused_though_all_sums_agree():
    path = HERE / "ioping/read-direct.toml"
    *requests, last = json.loads(output(path).stdout)
    requests[1]["io"]["time"] = last["stat"]["min"] = 0
    last["stat"]["time"] = sum(one["io"]["time"] for one in requests[1:])
    last["stat"]["max"] = max(one["io"]["time"] for one in requests[1:])

    with pytest.raises(OutputNotUnderstood, match="latencies above 0"):
        samples(loaded(path), Output(json.dumps([*requests, last])))


@pytest.mark.parametrize("name", names())
def test_has_a_good_and_a_bad_case(name):
    cases = [case for path, case in CASES.items() if path.parent.name == name]

    assert any("samples" in case for case in cases)
    assert any("raises" in case for case in cases)


@pytest.mark.parametrize("name", names())
def test_plans_with_sensible_values(name):
    workload = load(name, **REQUIRED.get(name, {}))

    assert 1 <= workload.expected_s() < 60
    is_loaded = any(role.snapshot for role in workload.roles())
    lays_files = workload.prepare() is not None or is_loaded or name in LAYING_IN_THE_RUN
    assert workload.disk_bytes() == 0 or lays_files
    assert len({metric.name for metric in workload.metrics}) == len(workload.metrics)
    assert workload.packages


@pytest.mark.parametrize("name", sorted(set(names()) - {"command"}))
def test_says_of_which_version_its_output_was_recorded(name):
    workload = load(name)
    packages = {package.rpartition("/")[2] for package in workload.packages}

    assert set(workload.recorded) & {*packages, *workload.programs} or (
        # What every userland has anyway stands in no list.
        set(workload.recorded) <= {"bash", "coreutils"} and workload.recorded
    )
    versions = [str(version) for version in workload.recorded.values()]
    text = " ".join(path.read_text() for path in CASES if path.parent.name == name)
    assert any(version.partition("+")[0] in text for version in versions)


FIXED = [path for path in GOOD if CASES[path]["params"].get("time_s") == "none"]


@pytest.mark.parametrize("path", FIXED, ids=ids)
def test_work_that_was_not_all_done_is_refused(path):
    workload, (more, by) = loaded(path), MORE_WORK[path.parent.name]
    asked_for_more = replace(workload, **{more: getattr(workload, more) * by})

    with pytest.raises(OutputNotUnderstood, match=r"agrees? with the"):
        samples(asked_for_more, output(path))


MORE_WORK = {
    "fio": ("size_bytes", 2),
    "sysbench_cpu": ("events", 2),
    "sysbench_fileio": ("total_bytes", 2),
    "sysbench_memory": ("total_bytes", 2),
}


@pytest.mark.parametrize("path", FIXED, ids=ids)
def test_what_fixed_work_took_is_the_primary_metric_of_sysbench(path):
    first = loaded(path).metrics[0]

    if path.parent.name.startswith("sysbench"):
        assert (first.role, first.better) == (MetricRole.TOOL_DURATION, Better.LOWER)
    else:
        assert first.unit is Unit.BYTE_PER_SECOND
