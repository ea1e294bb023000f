"""Entering a container without a daemon to ask: by the namespaces of its first process.

What only enters namespaces is not what the container makes of its processes: it has no filter of
system calls, and all capabilities. So where those matter, ``SERVE`` runs in the container and
starts each command as a process of the container; what enters only hands it the command.
"""

from __future__ import annotations

from tare.machines.backends.tree import ENVIRONMENT

# Only builtins before nsenter: it is run for every command, in emulated guests too. The leader's
# pid may be another process's by now, and what is meant for its namespaces would run on the outer
# machine: its cgroup tells. The root is the leader's, which may have changed it after its mounts.
ENTER = r"""
group=$1
shift
if [ -r "$0" ] && read -r pid < "$0" && [ -r "/proc/$pid/cgroup" ]; then
    while IFS= read -r line <&3; do
        case $line in */"$group" | */"$group"/*)
            exec nsenter --target "$pid" --all --root --wd -- "$@" 3<&-
        esac
    done 3< "/proc/$pid/cgroup"
fi
echo "the process that keeps $group is gone" >&2
exit 125
"""

# The first process of a container: the userland has no init. It reaps orphans, since a shell that
# waits for one child reaps any; SIGTERM tells all that runs inside to end, and gives it five
# seconds for that.
INIT = r"""
end() {
    trap '' TERM
    kill -TERM -1
    tries=0
    while set -- /proc/[0-9]* && [ $# -gt 1 ] && [ $tries -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
    exit 0
}
trap end TERM
while :; do sleep 3600 & wait $!; done
"""

# Each line is the pid of a CALL below. What is called gets the caller's words (all but its own
# first three), a session of its own, and the caller's streams: 6, 7 and 8, since the caller's shell
# has others for 0 and 1 now and then. The status goes to the caller's 9: one that is gone has none.
# xargs is there to read words that hold anything; it fails if they are too many, and changes a
# status, so it gets none.
SERVE = r"""
call='
caller=/proc/$0
xargs -0 -x -n 100000 -s 1000000 -a "$caller/cmdline" sh -c "$1" "$caller" \
    < "$caller/fd/6" > "$caller/fd/7" 2> "$caller/fd/8" 3<&- || echo 125 > "$caller/fd/9"
'
run='
caller=$0
shift 3
"$@"
echo $? > "$caller/fd/9"
'
mkdir /run/tare && mkfifo /run/tare/calls && exec 3<> /run/tare/calls || exit 1
echo "tare: ready"
while read -r caller <&3; do
    (setsid sh -c "$call" "$caller" "$run" &)
done
"""
CALL = r"""
mkfifo "/run/tare/$$" && exec 6<&0 7>&1 8>&2 9<> "/run/tare/$$" &&
    rm "/run/tare/$$" || exit 125
echo $$ > /run/tare/calls
read -r status <&9
exit "$status"
"""


def enter_argv(pid_file: str, group: str) -> list[str]:
    """Build what goes before a command's words to run it in the namespaces of a leader.

    The leader's pid is in a file on the outer machine; the leader is in that cgroup or below it.
    The command has the userland's environment, and stays in the cgroup that it is started in.
    """
    return ["sh", "-c", ENTER, pid_file, group, "env", "-i", *ENVIRONMENT]


def call_argv(pid_file: str, group: str) -> list[str]:
    """Build what goes before a command's words to have it run by what serves in a container."""
    called = ["sh", "-c", CALL, "env", "-i", *ENVIRONMENT]
    return ["sh", "-c", ENTER, pid_file, group, *called]
