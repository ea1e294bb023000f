"""Contradictions inside the studies, computed from their data; and the numbers of their texts."""

from dataclasses import replace

import pytest

from tare.results.published import Sort, Statistic, analyse, load, setup_of, studies
from tare.results.published.contradictions import claimed, contradictions, outside_ranges, repeated
from tare.results.published.contradictions import two_values as two_values_of
from tare.results.published.p_values import tests as p_values_of_tables
from tare.results.published.rows import COLUMNS, read

HEADER = ",".join(COLUMNS)


def found(study, sort=Sort.CONTRADICTION):
    return [one for one in analyse(study).findings if one.sort is sort]


def said(study, sort=Sort.CONTRADICTION):
    return " ".join(f"{one.where} {one.says}" for one in found(study, sort))


def rows_of(study, **wanted):
    return [
        row
        for row in load(study)
        if all(getattr(row, name) == value for name, value in wanted.items())
    ]


# What the studies say twice


@pytest.mark.parametrize(
    ("study", "words"),
    [
        ("laine2017", "0.0031 by section 3 (text), 0 by Table 4"),
        ("laine2017", "310 Mbit/s by Table 2 (text), 311 by Table 2"),
        ("laine2017", "the two rows look exchanged"),
        ("laine2017", "blocks of 16000 kB, 256,000 of which are 4.1 TB; it gives 4.2 GB"),
        ("huang2019", "111.8 points by abstract (text), 112.5 by the tables"),
        (
            "huang2019",
            "71.37 points by section 5 (text), 72.38 by the table. 71.37 is that of xen.",
        ),
        ("huang2019", "1.43 points by section 5 (text), 1.56"),
        ("huang2019", "52 points by section 5 (text), 52.67"),
        ("huang2019", "22 points by section 4 (text), 20 by Table 4.1"),
        ("huang2019", "28 points by section 4 (text); Table 4.2 has them at sequential write"),
        ("huang2019", "87.88 points by introduction (text), 85.9"),
        ("huang2019", "up to 32 instances by its method, 64 in Table 5.11"),
        ("huang2019", "50 GB by the text, -SCALE 30 by the command"),
        ("huang2019", "SQL Server 2017 by the text, PostgreSQL's COPY"),
        ("huang2019", "Hadoop 3.0.0 by the text, 3.2.0 by the commands"),
        ("huang2019", "its peak use alone by 5.1, its average by 5.2"),
        ("huang2019", "272.1 MB/s by Table 5.2, 273.054 by its commands"),
        ("huang2019", "126.23 MB/s by Table 5.2, 126.33 by its commands"),
        ("huang2019", "5140mbps is 41.12 Gbit/s to tc"),
        ("cole2022", "4 GB in section 1, 2 GB in section 5"),
        ("cole2022", "-m 4096m --memory-swap 2048m: Docker refuses"),
        ("cole2022", "lie below the smallest run that 6 prime 100 has (116900.2)"),
        ("cole2022", "1.0.18 in the virtual machine, 1.0.20 in the container"),
    ],
)
def test_each_contradiction_of_a_study_is_a_finding(study, words):
    assert words in said(study)


def test_claims_that_the_tables_bear_out_are_no_contradictions():
    claims = {row.text for row in rows_of("huang2019", unit="points")}
    contradicted = said("huang2019")

    assert {"69", "41", "104.92", "85.9", "17"} <= claims
    for text in ("69 points", "41 points", "104.92 points", "85.9 points", "17 points"):
        assert text not in contradicted
    # 275.80, 109.10, 57.16 and 58.00 are exactly their bytes.
    assert contradicted.count("over 2^20") == 2


def test_xen_that_a_reservation_makes_worse_is_not_judged():
    worse = {one.where for one in found("huang2019", Sort.NOT_JUDGED) if "reservation" in one.says}

    assert worse == {
        "isolation: cpu stress, TPC-DS, degradation, 90%URR: xen",
        "isolation: cpu stress, TeraSort, degradation, 90%URR: xen",
        "isolation: disk stress, TeraSort, degradation, 90%URR: xen",
        "isolation: network transmit stress, TeraSort, degradation, 90%URR: xen",
        "isolation: network receive stress, TeraSort, degradation, FURR: xen",
    }


@pytest.mark.parametrize("study", ["aspernas2016", "hpe2016"])
def test_a_study_that_says_nothing_twice_has_no_contradiction(study):
    assert found(study) == []


def test_that_time_is_saved_is_said_to_be_our_reading():
    assert "is our reading" in said("hpe2016", Sort.CAVEAT)


def changed(study, text, **values):
    """A study's rows, one of which has another value."""
    rows = list(load(study))
    (place,) = [place for place, row in enumerate(rows) if row.text == text]
    rows[place] = replace(rows[place], **values)
    return rows


@pytest.mark.parametrize(
    ("study", "text", "true", "words"),
    [
        ("huang2019", "111.8", 112.5, "by the tables (docker less kvm)"),
        ("huang2019", "1.43", 1.56, "by section 5"),
        ("huang2019", "87.88", 85.9, "87.88"),
        ("laine2017", "0.0031", 0.0, "section 3 (text)"),
    ],
)
def test_a_number_that_is_as_in_the_tables_is_no_contradiction(study, text, true, words):
    rows = changed(study, text, value=true) if text != "1.43" else [
        replace(row, value=true) if row.text == text and row.table == "section 5 (text)" else row
        for row in load(study)
    ]  # fmt: skip
    before = {one.where for one in contradictions(study, load(study)) if words in one.says}
    after = {one.where for one in contradictions(study, rows) if words in one.says}
    assert after < before


# The rules


def lines(tmp_path, *texts):
    (tmp_path / "made.csv").write_text("\n".join([HEADER, *texts]) + "\n")
    return read(tmp_path / "made.csv")


def test_a_number_that_the_text_repeats_is_that_of_the_table(tmp_path):
    table = "made,Table 1,e,load,rate,docker,native,,,,mean,{},events/s,higher,"
    text = "made,section 2 (text),e,load,rate,docker,native,,,,mean,{},events/s,higher,"

    def contradicted(one, other):
        return list(repeated(lines(tmp_path, table.format(one), text.format(other))))

    assert contradicted("12.3", "12.3") == contradicted("12.3", "12") == []
    assert contradicted("12.26", "12.3") == []
    (finding,) = contradicted("12.3", "12.4")
    assert finding.where == "load, rate: docker"
    assert finding.says == "12.4 events/s by section 2 (text), 12.3 by Table 1."


def test_a_run_outside_of_the_printed_range_is_found_at_either_end(tmp_path):
    end = "made,Table 1,e,load,rate,docker,,,,,{},{},events/s,higher,"
    run = "made,picture,e,load,rate,docker,,,,1,run,{},events/s,higher,"

    def words(value):
        rows = lines(tmp_path, end.format("min", 10), end.format("max", 20), run.format(value))
        return [one.says for one in outside_ranges(rows)]

    assert words(10) == words(20) == []
    assert "below the smallest run" in words(9)[0]
    assert "above the largest run" in words(21)[0]


def test_a_number_that_is_computed_may_be_rounded():
    (row,) = rows_of("huang2019", text="111.8")

    assert list(claimed(row, 111.849, "us")) == []
    assert list(claimed(row, None, "us")) == []
    assert len(list(claimed(row, 111.86, "us"))) == 1


def test_a_condition_that_a_set_up_does_not_have_is_an_error():
    with pytest.raises(KeyError):
        list(two_values_of(setup_of("cole2022"), ["a condition of nobody"]))


# The numbers of the texts


@pytest.mark.parametrize(
    ("study", "text", "wanted"),
    [
        ("laine2017", "0.0031", {"level": "3 CPU", "statistic": Statistic.P_VALUE}),
        ("laine2017", "0.000038", {"level": "4 CPU"}),
        ("laine2017", "4.60576e-24", {"level": "1 GB", "workload": "dd disk"}),
        ("laine2017", "4.98974e-14", {"level": "2 GB"}),
        ("laine2017", "0.0399", {"workload": "dd RAM write"}),
        ("laine2017", "84672", {"unit": "datagrams", "platform": "docker"}),
        ("laine2017", "310", {"unit": "Mbit/s", "platform": "kvm"}),
        ("huang2019", "83.3", {"baseline": "kvm"}),
        ("huang2019", "64.6", {"baseline": "xen"}),
        ("huang2019", "2.18", {"unit": "min"}),
        ("huang2019", "5.28", {"unit": "min"}),
        ("huang2019", "11.25", {"unit": "points"}),
        ("huang2019", "132466606", {"unit": "B/s", "metric": "disk read limit"}),
        ("cole2022", "114611.42", {"statistic": Statistic.RUN}),
        ("cole2022", "152526.32", {"platform": "qemu-tcg 2cpu/2048MiB"}),
        ("cole2022", "4576887", {"unit": "events"}),
        ("cole2022", "20.22", {"unit": "ms"}),
        ("cole2022", "2743433.72", {"platform": "kvm 4cpu/4096MiB"}),
        ("cole2022", "82308351", {"unit": "events"}),
        ("hpe2016", "48", {"workload": "AIM7"}),
        ("hpe2016", "128", {"unit": "GB"}),
    ],
)
def test_the_numbers_of_the_texts_are_data(study, text, wanted):
    (row,) = rows_of(study, text=text)
    assert {name: getattr(row, name) for name in wanted} == wanted


def test_which_web_tests_completed_is_counted():
    rows = rows_of("laine2017", unit="tests")
    by = {(row.workload.split()[-1], row.platform, row.level): row.value for row in rows}

    assert len(by) == 27
    assert {value for (_, platform, _), value in by.items() if platform != "kvm"} == {8}
    assert [by["apache", "kvm", f"{n} clients"] for n in (50, 100, 200)] == [8, 1, 0]
    assert sum(value for (server, platform, _), value in by.items() if server == "lighttpd"
               and platform == "kvm") == 0  # fmt: skip
    assert [by["nginx", "kvm", f"{n} clients"] for n in (50, 100, 200)] == [2, 0, 0]


def test_verdicts_in_words_are_data_and_no_silence():
    words = rows_of("hpe2016", statistic=Statistic.VERDICT)

    assert {row.workload for row in words} == {"STREAM", "fio read", "fio, IOPS"}
    assert {(row.text, row.value) for row in words} == {("comparable", None)}
    assert not any("respond" in one.says for one in found("hpe2016", Sort.CAVEAT))


def test_p_values_of_the_text_are_no_tests_of_their_own():
    rows = load("laine2017")
    assert len(p_values_of_tables(rows)) == 63
    assert sum(row.statistic is Statistic.P_VALUE for row in rows) == 63 + 5


def test_the_last_digit_of_a_number_with_an_exponent_is_its_last():
    (row,) = rows_of("laine2017", text="4.60576e-24")
    assert row.resolution == pytest.approx(1e-29)


def test_every_study_is_analysed():
    assert all(analyse(study).findings for study in studies())
