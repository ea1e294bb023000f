"""Check that a role stresses: by its processes' CPU time, resident memory and moved bytes."""

from __future__ import annotations

from tare.work.roles import Succeeds

# The role's first process leads a session, of which all processes below it are. Their names may
# hold blanks and brackets, so they are cut out first. A kernel without accounting of I/O, as a
# small guest's, has no file of it: there the CPU time of the first process stands for it. gVisor's
# has `char:` for what was read (gVisor of 2022).
CHECK = r"""
busy=$0 resident=$1 moved=$2
read -r pid _ < service.pid || exit 1
page=$(getconf PAGESIZE)
cat /proc/[0-9]*/stat 2> /dev/null | sed 's/ (.*) / /' | awk \
    -v pid="$pid" -v busy="$busy" -v resident="$resident" -v page="$page" '
    $5 == pid && $1 != pid {
        if ($13 + $14 + $15 + $16 > 0) working++
        pages += $23
    }
    END { exit working < busy || pages * page < resident }
' || exit 1
[ "$moved" = 0 ] && exit 0
if [ -r "/proc/$pid/io" ]; then
    awk -v moved="$moved" '/^[rw]?char:/ { n += $2 } END { exit n < moved }' "/proc/$pid/io"
else
    sed 's/ (.*) / /' "/proc/$pid/stat" | awk '{ exit $13 + $14 < 2 }'
fi
"""


def stresses(*, busy: int = 0, resident_bytes: int = 0, moved_bytes: int = 0) -> Succeeds:
    """Return a role's readiness: what its processes must have done.

    ``busy`` is how many processes below the first one must have used CPU time, ``resident_bytes``
    what these must have in memory together, and ``moved_bytes`` what the first one must have read
    and written.
    """
    return Succeeds(["sh", "-c", CHECK, str(busy), str(resident_bytes), str(moved_bytes)])
