"""What workloads with a database share: what is loaded, how it is served, what is counted."""

import pytest

from tare.work.workload import load

POSTGRESQL = {"database": "postgresql"}


def snapshot(name, **params):
    (db,) = load(name, **params).roles()
    return db.snapshot


def test_levels_that_load_the_same_share_what_was_loaded():
    assert snapshot("oltp", threads=1) == snapshot("oltp", threads=25, test="read_only")
    assert snapshot("oltp", rows=100) != snapshot("oltp", rows=200)
    assert snapshot("oltp") != snapshot("oltp", **POSTGRESQL)
    assert snapshot("php_sql", count=1) == snapshot("php_sql", operation="select", count=7)


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"durability": "full"}, "1"),
        ({"durability": "second"}, "2"),
        ({"durability": "full", **POSTGRESQL}, "on"),
        ({"durability": "second", **POSTGRESQL}, "off"),
    ],
)
def test_the_server_is_as_durable_as_asked(params, word):
    (db,) = load("oltp", **params).roles()

    assert db.command[-4:] == ["{db.port}", str(256 * 2**20), word, "12"]


@pytest.mark.parametrize("name", ["oltp", "php_sql"])
def test_together_is_one_instance_and_apart_the_database_has_its_own(name):
    assert load(name, together=True).all_roles().homes() == ("db",)
    assert "db" in load(name).all_roles().homes()
    assert load(name).uses_peer() == (name == "oltp")


def test_the_load_warms_the_server_up_unless_it_is_told_not_to():
    warm_up = load("oltp", threads=3, warm_up_s=7).warm_up()

    assert warm_up[-1] == "run"
    assert {"oltp_read_write", "--threads=3", "--time=7"} <= set(warm_up)
    assert load("oltp", warm_up_s=0).warm_up() is None


# Recorded on 2026-11-25 with sysbench 1.0.20 and PostgreSQL 15.20: by how much xact_commit grew
# more than sysbench's transactions. Two are of what asks for it.
COUNTED = [
    ("read_write", 1, 1, 14),
    ("read_write", 2, 1, 26),
    ("read_write", 1, 2, 23),
    ("read_write", 2, 2, 44),
    ("read_only", 1, 1, 10),
    ("write_only", 1, 1, 9),
    ("point_select", 2, 2, 8),
]


@pytest.mark.parametrize(("test", "threads", "tables", "more"), COUNTED)
def test_what_clients_prepare_is_known_of_postgresql(test, threads, tables, more):
    params = {"test": test, "threads": threads, "tables": tables}

    assert load("oltp", **params, **POSTGRESQL)._prepared() == more - 2
    assert load("oltp", **params)._prepared() == 0
