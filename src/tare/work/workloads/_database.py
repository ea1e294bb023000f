"""What all workloads with a database share: a server of MariaDB or PostgreSQL, loaded once.

The data directory is made and loaded once in each instance (``Role.snapshot``), and each trial
starts a server on a copy of it: what one trial wrote is not there in the next. Both servers are
configured alike as far as they can be: one buffer of the same size, the same durability, no
second log, no encryption of connections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tare.work.roles import Role, Succeeds

Database = Literal["mariadb", "postgresql"]
Durability = Literal["full", "second"]
"""Full: each commit is on the disk before it is answered. Second: within about a second after."""

ADDRESS, PORT = "{db.address}", "{db.port}"
NAME = "tare"
"""Of the database, of its user, and its password: its rows are made up, and it ends with a trial.
"""

SETTLE_S = 180.0
"""How long a server may take to start on files that are there: an emulated guest is slow."""
EMPTY_BYTES = 250_000_000
"""More than what a database without rows takes on the disk, logs included."""


@dataclass(frozen=True, slots=True)
class Engine:
    """How one database is made, loaded and served; all of it in the current directory.

    ``load`` ends with ``fill``, which is the caller's: it finds ``$sql``, the command of a client
    with all rights, and ``$words``, those that sysbench connects with. Where it fails, what the
    server said of it is the reason. ``committed`` defines a function of the shell that prints what
    the server at ``$host`` and ``$port`` counted so far; ``$1`` is MariaDB's name of the count.
    """

    packages: tuple[str, ...]
    load: str
    serve: str
    ready: str
    committed: str
    durability: Mapping[Durability, str]


# Who has all rights gets in by a socket alone, which root can reach while the data are loaded: the
# server runs with the rights of root, and on a platform without walls its ports are the host's.
# The path of a socket holds 107 bytes: it is named by where the server runs, or is in /tmp.
_MARIADB = Engine(
    packages=("mariadb-server",),
    load=r"""
set -eu
mariadb-install-db --no-defaults --user=root "--datadir=$PWD/data" --skip-test-db \
    --auth-root-authentication-method=socket --auth-root-socket-user=root \
    --innodb-use-native-aio=0 > install.log 2>&1 ||
    { grep -i -m 3 error install.log >&2 || tail -n 5 install.log >&2; exit 1; }
cd data
sql="mariadb --no-defaults --socket=s" words="--mysql-socket=s --mysql-user=root"
mariadbd --no-defaults --user=root "--datadir=$PWD" --socket=s --skip-networking \
    --innodb-flush-log-at-trx-commit=0 --innodb-use-native-aio=0 > ../load.log 2>&1 &
server=$!
trap 'kill -KILL $server 2> /dev/null || true' EXIT # what cannot be loaded leaves no server behind
until $sql -e 'SELECT 1' > /dev/null 2>&1; do
    kill -0 $server 2> /dev/null || { tail -n 5 ../load.log >&2; exit 1; }
    sleep 0.05
done
$sql -e "CREATE DATABASE tare; CREATE USER tare@'%' IDENTIFIED BY 'tare';
    GRANT ALL ON tare.* TO tare@'%'"
fill "$@" || { grep -i -E 'error|no space' ../load.log | tail -n 2 | cut -c 1-200 >&2; exit 1; }
mariadb-admin --no-defaults --socket=s shutdown
wait $server
rm -f ../install.log ../load.log
""",
    # MariaDB takes a disk that /dev/shm is on for persistent memory, where it neither writes nor
    # syncs its log: in a bare chroot that is a folder of the disk, and a commit would cost nothing.
    # Asynchronous I/O of the kernel is refused in some containers and allowed elsewhere, where the
    # server would then work otherwise. What the buffer held it would read back by itself, at a
    # moment of its own choice: the warm-up does.
    serve=r"""
cd data
disk_of() { find "$1" -maxdepth 0 -printf %D 2> /dev/null; } # gVisor refuses the statx of stat
if [ "$(disk_of .)" = "$(disk_of /dev/shm)" ]; then
    echo '/dev/shm is on the disk of the data: the server would sync no commit' >&2
    exit 1
fi
exec mariadbd --no-defaults --user=root "--datadir=$PWD" --socket=s "--port=$1" \
    --bind-address=0.0.0.0 --skip-name-resolve "--tmpdir=$PWD" "--innodb-buffer-pool-size=$2" \
    --innodb-buffer-pool-load-at-startup=OFF --innodb-buffer-pool-dump-at-shutdown=OFF \
    "--innodb-flush-log-at-trx-commit=$3" "--max-connections=$4" --skip-log-bin \
    --query-cache-type=0 --innodb-use-native-aio=0
""",
    ready="cd data && mariadb-admin --no-defaults --socket=s ping",
    committed=r"""
committed() {
    mariadb --no-defaults "--host=$host" "--port=$port" --user=tare --password=tare -NBe \
        "SHOW GLOBAL STATUS LIKE '$1'" | cut -f 2
}
""",
    durability={"full": "1", "second": "2"},
)
_POSTGRESQL = Engine(
    packages=("postgresql", "postgresql-contrib", "util-linux"),
    # PostgreSQL refuses to run as root, and its user must get to the files: by the open directory,
    # whatever those above it allow.
    load=r"""
set -eu
for bin in /usr/lib/postgresql/*/bin; do :; done
as="setpriv --reuid=postgres --regid=postgres --clear-groups"
sockets=$(mktemp -d /tmp/tare-XXXXXX)
trap 'rm -rf "$sockets"' EXIT
mkdir data
chown postgres:postgres data "$sockets" 2> /dev/null ||
    { echo 'PostgreSQL refuses to run as root, and there is no other user here' >&2; exit 126; }
chmod 700 data
cd data
$as "$bin/initdb" -D . --auth=reject --encoding=UTF8 --locale=C --no-sync > "$sockets/log" 2>&1 ||
    { tail -n 5 "$sockets/log" >&2; exit 1; }
printf '%s\n' 'local all postgres trust' 'host tare tare all scram-sha-256' > pg_hba.conf
sql="psql -q -v ON_ERROR_STOP=1 -h $sockets -U postgres"
words="--pgsql-host=$sockets --pgsql-user=postgres"
$as "$bin/postgres" -D . -k "$sockets" -c listen_addresses= -c fsync=off > "$sockets/log" 2>&1 &
server=$!
trap 'kill -QUIT $server 2> /dev/null || true; rm -rf "$sockets"' EXIT # it leaves no server behind
until $sql -d postgres -c 'SELECT 1' > /dev/null 2>&1; do
    kill -0 $server 2> /dev/null || { tail -n 5 "$sockets/log" >&2; exit 1; }
    sleep 0.05
done
$sql -d postgres -c "CREATE ROLE tare LOGIN PASSWORD 'tare'" -c 'CREATE DATABASE tare OWNER tare'
fill "$@" || { grep -E 'ERROR|FATAL|PANIC' "$sockets/log" | tail -n 2 | cut -c 1-200 >&2; exit 1; }
$sql -d tare -c 'GRANT ALL ON ALL TABLES IN SCHEMA public TO tare' \
    -c 'GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO tare' -c 'VACUUM ANALYZE'
kill -INT $server
wait $server || true
""",
    # Vacuumed when it was loaded; in which trial the next one falls would be chance, and its
    # transactions count as those of clients do.
    serve=r"""
cd data
as="setpriv --reuid=postgres --regid=postgres --clear-groups"
for bin in /usr/lib/postgresql/*/bin; do :; done
exec $as "$bin/postgres" -D . -p "$1" -c listen_addresses=0.0.0.0 \
    -c unix_socket_directories= -c "shared_buffers=$(($2 / 1024))kB" \
    -c "synchronous_commit=$3" -c "max_connections=$4" -c autovacuum=off
""",
    ready='pg_isready -q -h 127.0.0.1 -p "$0"',
    committed=r"""
committed() {
    PGPASSWORD=tare psql -h "$host" -p "$port" -U tare -d tare -tAc \
        "SELECT xact_commit FROM pg_stat_database WHERE datname = 'tare'"
}
""",
    durability={"full": "on", "second": "off"},
)
ENGINES: Mapping[Database, Engine] = {"mariadb": _MARIADB, "postgresql": _POSTGRESQL}


def role(
    database: Database,
    fill: str,
    *words: str,
    buffer_bytes: int,
    durability: Durability,
    connections: int,
) -> Role:
    """Return the role ``db``: a server on a copy of what ``fill`` loaded.

    ``fill`` is a function of the shell with that name, see Engine, and ``words`` are its own.
    """
    engine = ENGINES[database]
    settings = [str(buffer_bytes), engine.durability[durability], str(connections + 8)]
    return Role(
        name="db",
        command=["sh", "-c", engine.serve, database, PORT, *settings],
        packages=engine.packages,
        snapshot=["sh", "-c", fill + engine.load, database, *words],
        ready=Succeeds(["sh", "-c", engine.ready, PORT]),
        ready_s=SETTLE_S,
    )
