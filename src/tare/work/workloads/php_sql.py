"""php_sql: a PHP script that asks a MariaDB server one question after the other.

Defined by aspernas2016: a command-line script with mysqli in the web server's container, the
database in another; the clock runs around the queries only, not around the connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tare.core.errors import OutputNotUnderstood
from tare.core.model import Better, FileAccess, Metric, Sample, Unit
from tare.work import workload
from tare.work.parsing import document
from tare.work.roles import OWN, Role
from tare.work.workload import TOOL_DURATION
from tare.work.workloads import _database, at_least, at_most, one_of
from tare.work.workloads._database import Durability

Operation = Literal["select", "insert"]

QUERIES = Metric("queries", Unit.PER_SECOND, Better.HIGHER)
QUERY_MEAN = Metric("query_mean", Unit.SECOND, Better.LOWER)

USERS = 2
"""Rows of wp_users, which each select returns."""

# The server's own counters are read on both sides of the clock; reading them is no select, and
# counting rows is one, so the counts are outside. What cannot be done ends it: of an error
# mysqli makes an exception.
SCRIPT = r"""
function status($db, $name) {
    return (int) $db->query("SHOW GLOBAL STATUS LIKE '$name'")->fetch_row()[1];
}
function statuses($db, $operation) {
    $names = ["Com_$operation", 'Innodb_log_writes', 'Innodb_data_fsyncs'];
    return array_map(fn($name) => status($db, $name), $names);
}
function rows($db) {
    return (int) $db->query('SELECT COUNT(*) FROM test_table')->fetch_row()[0];
}
[, $operation, $count, $autocommit, $address, $port] = $argv;
try {
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    $db = new mysqli($address, 'wordpress', 'wordpress', '', (int) $port);
    $db->query('USE wordpress');
    if ($operation === 'insert') {
        $db->query('TRUNCATE TABLE test_table');
        $query = "INSERT INTO test_table(test) VALUES('test')";
    } else {
        $query = 'SELECT * FROM wp_users';
    }
    $before = rows($db);
    $db->autocommit($autocommit === '1');
    $returned = 0;
    [$counted, $writes, $syncs] = statuses($db, $operation);
    $began = hrtime(true);
    for ($n = 0; $n < $count; $n++) {
        $result = $db->query($query);
        if ($result !== true) {
            $returned += $result->num_rows;
        }
    }
    if ($autocommit !== '1') {
        $db->commit();
    }
    $took = hrtime(true) - $began;
    $end = statuses($db, $operation);
    $after = rows($db);
    echo json_encode([
        'operation' => $operation, 'count' => $n, 'nanoseconds' => $took, 'returned' => $returned,
        'rows_before' => $before, 'rows_after' => $after, 'counted_by_server' => $end[0] - $counted,
        'log_writes' => $end[1] - $writes, 'syncs' => $end[2] - $syncs,
        'php' => PHP_VERSION, 'server' => $db->server_info,
    ]), "\n";
} catch (Throwable $error) {
    fwrite(STDERR, 'php_sql: ' . strtr($error->getMessage(), "\n", ' ') . "\n");
    exit(1);
}
"""

# Users, tables and rows as WordPress has them. test_table's key is Tare's: the study does not tell.
MAKE_TABLES = """
CREATE DATABASE wordpress CHARACTER SET utf8mb4;
CREATE USER 'wordpress'@'%' IDENTIFIED BY 'wordpress';
GRANT ALL ON wordpress.* TO 'wordpress'@'%';
CREATE TABLE wordpress.wp_users (
    ID bigint(20) unsigned NOT NULL AUTO_INCREMENT,
    user_login varchar(60) NOT NULL DEFAULT '',
    user_pass varchar(255) NOT NULL DEFAULT '',
    user_nicename varchar(50) NOT NULL DEFAULT '',
    user_email varchar(100) NOT NULL DEFAULT '',
    user_url varchar(100) NOT NULL DEFAULT '',
    user_registered datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
    user_activation_key varchar(255) NOT NULL DEFAULT '',
    user_status int(11) NOT NULL DEFAULT 0,
    display_name varchar(250) NOT NULL DEFAULT '',
    PRIMARY KEY (ID),
    KEY user_login_key (user_login),
    KEY user_nicename (user_nicename),
    KEY user_email (user_email)
) ENGINE=InnoDB;
INSERT INTO wordpress.wp_users (user_login, user_pass, user_nicename, user_email,
    user_registered, display_name) VALUES
{users};
CREATE TABLE wordpress.test_table (
    id int unsigned NOT NULL AUTO_INCREMENT,
    test varchar(255) NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB;
""".replace(
    "{users}",
    ",\n".join(
        f"    ('user{n}', '$P$B{'x' * 30}', 'user{n}', 'user{n}@example.com',"
        f" '2016-04-01 12:00:00', 'User {n}')"
        for n in range(1, USERS + 1)
    ),
)

ROW_BYTES = 128
"""What a row more takes in the database at most."""
BUFFER_BYTES = 128 * 2**20
"""The server's default."""

FILL = """
fill() { $sql -e "$1"; }
"""


@dataclass(frozen=True, kw_only=True)
class Workload(workload.Workload):
    """Send ``count`` queries of one kind to the database, each after the answer to the last.

    ``select`` reads the two rows of wp_users, ``insert`` adds a row to a table that was emptied.
    Each insert is a transaction; without ``autocommit`` all are one, whose commit is inside the
    clock. With ``durability`` full a commit waits until it is on the disk; with second it is
    written at once and synced every second. ``together`` puts the script into the database's own
    instance. Counts are those of aspernas2016: one select, 10,000 inserts; durability and
    autocommit are MySQL's defaults, of which it does not speak.
    """

    operation: Operation = "insert"
    count: int = 10_000
    autocommit: bool = True
    durability: Durability = "full"
    together: bool = False

    metrics = (TOOL_DURATION, QUERIES, QUERY_MEAN)
    packages = ("php8.2-cli", "php8.2-mysql")
    recorded: ClassVar[Mapping[str, str]] = {"php8.2-cli": "8.2.36", "mariadb-server": "10.11.19"}

    def __post_init__(self) -> None:
        one_of(self, operation=Operation, durability=Durability)
        at_least(self, count=1)
        at_most(self, count=100_000_000)

    def place(self) -> str:
        """See Workload.place."""
        return "db" if self.together else OWN

    def command(self) -> Sequence[str]:
        """See Workload.command."""
        what = [self.operation, str(self.count), "1" if self.autocommit else "0"]
        # What PHP itself complains of is no line of the result.
        php = ["php", "-d", "display_errors=stderr", "-d", "html_errors=0"]
        return [*php, "-r", SCRIPT, "--", *what, _database.ADDRESS, _database.PORT]

    def roles(self) -> Sequence[Role]:
        """See Workload.roles."""
        db = _database.role(
            "mariadb",
            FILL,
            MAKE_TABLES,
            buffer_bytes=BUFFER_BYTES,
            durability=self.durability,
            connections=1,
        )
        return (db,)

    def parse(self, output: workload.Output) -> Iterator[Sample]:
        """See Workload.parse."""
        text = output.stdout
        if not text.endswith("\n"):
            raise OutputNotUnderstood("one line of JSON", text)
        found = document(text, "result of the script")
        done, returned = found.count("count"), found.count("returned")
        added = found.count("rows_after") - found.count("rows_before")
        if found.word("operation") != self.operation or done != self.count:
            raise OutputNotUnderstood(f"result that agrees with {self.count} queries asked", text)
        if found.count("counted_by_server") != done:
            raise OutputNotUnderstood("queries that agree with the server's own count", text)
        is_insert = self.operation == "insert"
        if added != (done if is_insert else 0) or (is_insert and found.count("rows_before")):
            raise OutputNotUnderstood("rows in the database that agree with the queries", text)
        if returned != (0 if is_insert else USERS * done):
            raise OutputNotUnderstood("rows returned that agree with the queries", text)
        # Each of one connection's commits is written, and synced, before the next one begins.
        commits = 0 if not is_insert else done if self.autocommit else 1
        synced = found.count("syncs") if self.durability == "full" else commits
        if found.count("log_writes") < commits or synced < commits:
            raise OutputNotUnderstood(f"{commits} commits that agree with the durability", text)
        took_s = found.count("nanoseconds") / 1e9
        if not took_s:
            raise OutputNotUnderstood("time that agrees with queries made", text)
        yield Sample(TOOL_DURATION, took_s)
        yield Sample(QUERIES, done / took_s)
        yield Sample(QUERY_MEAN, took_s / done)

    def expected_s(self) -> float:
        """See Workload.expected_s."""
        slow_per_s = 1000
        return 1.0 + self.count / slow_per_s

    def file_access(self) -> FileAccess:
        """See Workload.file_access."""
        return FileAccess.CACHED if self.operation == "insert" else FileAccess.NONE

    def disk_bytes(self) -> int:
        """See Workload.disk_bytes."""
        inserted = self.count if self.operation == "insert" else 0
        return 2 * _database.EMPTY_BYTES + ROW_BYTES * inserted
