/* A resident agent: starts commands in the machine it was put into, for one client.
 *
 * It is two processes. The first only waits for the second, which does the work, and kills what that
 * one leaves if it is killed; the client then sees the end of the streams, and nothing runs on.
 *
 * The client is at the other end of the agent's stdin and stdout, or of the first connection to the
 * unix socket that is given as argument. The agent ends when that connection ends, or on SIGTERM,
 * and kills every process that descends from it. Nobody else is answered.
 *
 * A frame is: u32 size of the payload, u32 id, u8 type, payload; in the byte order of the machine.
 * From the client, id names a command and is chosen by the client:
 *   R run    struct order, then cwd\0 (empty: the agent's own), argv\0..., env\0... (added to the
 *            agent's own); with CONNECT argv[0] is a unix socket to relay to, such as that of an
 *            agent in a machine inside
 *   I input  bytes for stdin, none: the end of it; at most WINDOW bytes may be unacknowledged
 *   G go     u64: release an armed command at that moment of CLOCK_MONOTONIC here; 0: now
 *   K kill   i32: send that signal to its process group; id ~0: SIGKILL to all descendants
 *   P ping   any bytes
 *   F files  path\0...: read files without starting a process
 * From the agent:
 *   H hello  struct hello    A armed  nothing, it is held    X exit   struct ended, its last frame
 *   O, E     what it printed (stdout, stderr)                W window u32: bytes of input taken
 *   P pong   struct pong, the ping's bytes
 *   F files  u64 CPU time of the agent in ns; then for each path i32 size or -errno, content
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VERSION = 1, SLOTS = 64, HEAD = 9, CHUNK = 1 << 16, WINDOW = 1 << 18, MOST = 1 << 22, FILES = 1 << 17, KEPT = 16 };
enum { SOFT = 1 << 18, ROOM = SOFT + 2 * CHUNK + 2 * FILES }; /* above SOFT nothing is read */
enum { STDIN = 1, ARMED = 2, AFTER_EXEC = 4, CONNECT = 8 }; /* flags of an order */
enum { TIMED_OUT = 1, PIPES_HELD = 2, NOT_RUN = 4 };          /* flags of an end */
enum { FREE, HELD, RUNS, ENDED, REPORTED };
#define LINGER_NS 1000000000ull /* how long a daemon that holds the pipes may delay the exit frame */
#define CONNECT_MS 300000       /* how long a client may take to connect to the socket */
#define MIN(a, b) ((a) < (b) ? (a) : (b))

struct order { uint32_t flags, argc, envc; uint64_t allowed_ns; } __attribute__((packed));
struct hello { uint32_t version, pid, slots, window, adopts, pad; }; /* adopts: is a subreaper */
struct pong { uint64_t mono_ns, real_ns, cpu_ns; };
struct ended {
    int32_t status, error; /* as wait(2) gives it; errno of the exec or fork that failed */
    uint32_t flags, pad;
    uint64_t start_ns, end_ns, user_us, system_us, maxrss_kb, minflt, majflt, inblock, oublock,
        nvcsw, nivcsw;
};
struct note { uint64_t start_ns; int32_t error; }; /* written by the child, in shared memory */
struct command {
    uint32_t id, flags, filled, taken, owed;
    int state, is_fed, in, out, err, go;
    pid_t pid;
    uint64_t allowed_ns, deadline_ns, go_ns, until_ns;
    char *input;
    struct note *note;
    struct ended end;
};

static struct command commands[SLOTS];
static char out[ROOM], *in;
static size_t out_from, out_to, in_to, in_room;
static volatile sig_atomic_t should_end;
static pid_t self;
static volatile pid_t worker;

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void kill_group(struct command *c, int signal)
{
    if (c->pid > 0 && kill(-c->pid, signal) < 0) kill(c->pid, signal); /* before its setsid */
}

static void sweep_all(void)
{
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes && (entry = readdir(processes));) {
        char path[300];
        int pid = 0, parent = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *stat = fopen(path, "re");
        if (stat && fscanf(stat, "%d %*[^)]) %*c %d", &pid, &parent) == 2 && parent == self)
            kill(pid, SIGKILL);
        if (stat) fclose(stat);
    }
    if (processes) closedir(processes);
}

/* As a subreaper the agent is the parent of all orphans below it: they are its children too. */
static void sweep(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", self);
    for (int i = 0; i < SLOTS; i++)
        if (commands[i].state == HELD || commands[i].state == RUNS) kill_group(commands + i, SIGKILL);
    FILE *children = fopen(path, "re");
    if (!children) return sweep_all(); /* not every kernel has this file */
    for (int pid; fscanf(children, "%d", &pid) == 1;) kill(pid, SIGKILL);
    fclose(children);
}

static void leave(int status)
{
    for (int tries = 0; tries < 2000; tries++) {
        int pid;
        sweep();
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        if (pid < 0) break;
        usleep(500);
    }
    _exit(status);
}

static void compact(void)
{
    memmove(out, out + out_from, out_to - out_from);
    out_to -= out_from;
    out_from = 0;
}

static char *head(uint8_t type, uint32_t id, uint32_t size) /* returns where the payload goes */
{
    if (out_to + HEAD + size > ROOM) compact();
    if (out_to + HEAD + size > ROOM) leave(3);
    char *at = out + out_to;
    memcpy(at, &size, 4);
    memcpy(at + 4, &id, 4);
    at[8] = type;
    out_to += HEAD + size;
    return at + HEAD;
}

static void send_frame(uint8_t type, uint32_t id, const void *bytes, uint32_t size)
{
    memcpy(head(type, id, size), bytes, size);
}

static void flush(void)
{
    while (out_from < out_to) {
        ssize_t n = write(1, out + out_from, out_to - out_from);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n < 0) leave(1);
        out_from += n;
    }
    out_from = out_to = 0;
}

static void shut(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void become_command(struct command *c, const int std[3], int go, char **argv, char **env, char *cwd)
{
    sigset_t none;
    uint64_t at = 0;
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) _exit(0);
    for (int fd = 0; fd < 3; fd++) dup2(std[fd], fd);
    for (int i = 1; i < 32; i++) signal(i, SIG_DFL); /* whatever the way in has ignored */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (*cwd && chdir(cwd) < 0) {
        dprintf(2, "cannot change directory to %s: %s\n", cwd, strerror(errno));
        _exit(125); /* as env(1) does */
    } else {
        if (go >= 0 && read(go, &at, 8) != 8) _exit(0);
        struct timespec t = {at / 1000000000, at % 1000000000};
        while (at && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
        if (c->flags & AFTER_EXEC) ptrace(PTRACE_TRACEME, 0, 0, 0);
        while (*env) putenv(*env++); /* execvp searches the PATH that comes of it */
        c->note->start_ns = now(CLOCK_MONOTONIC);
        execvp(argv[0], argv);
    }
    c->note->error = errno;
    dprintf(2, "%s: %s\n", argv[0], strerror(c->note->error));
    _exit(c->note->error == ENOENT ? 127 : 126);
}

static void refuse(uint32_t id, int error)
{
    struct ended end = {.status = 125 << 8, .error = error, .flags = NOT_RUN};
    send_frame('X', id, &end, sizeof end);
}

static void run(uint32_t id, char *at, uint32_t size)
{
    struct order o;
    struct command *c = commands;
    char *last = at + size, *cwd, *word;
    int p[4][2] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}}; /* stdin, stdout, stderr, go */
    while (c < commands + SLOTS && c->state != FREE) c++;
    if (size < sizeof o + 2 || last[-1]) leave(4);
    memcpy(&o, at, sizeof o);
    if (c == commands + SLOTS) return refuse(id, EBUSY);
    uint64_t count = o.argc + (uint64_t)o.envc;
    char **words = o.argc && count <= size ? calloc(count + 2, sizeof *words) : NULL;
    if (!words) leave(4);
    cwd = word = at + sizeof o;
    for (uint64_t i = 0; i < count; i++) {
        if ((word += strlen(word) + 1) >= last) leave(4);
        words[i < o.argc ? i : i + 1] = word;
    }
    if (o.flags & CONNECT) {
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int error = strlen(words[0]) < sizeof to.sun_path ? 0 : ENAMETOOLONG;
        snprintf(to.sun_path, sizeof to.sun_path, "%s", words[0]);
        free(words);
        if (!error && (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)) error = errno;
        if (error) {
            if (fd >= 0) close(fd);
            return refuse(id, error);
        }
        *c = (struct command){.id = id, .flags = o.flags, .note = c->note, .state = RUNS, .in = fd,
            .out = fcntl(fd, F_DUPFD_CLOEXEC, 3), .err = -1, .go = -1};
        return;
    }
    int fed = o.flags & STDIN, held = (o.flags & (ARMED | AFTER_EXEC)) == ARMED;
    int failed = fed ? pipe2(p[0], O_CLOEXEC) : (p[0][0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0;
    failed = failed || pipe2(p[1], O_CLOEXEC) || pipe2(p[2], O_CLOEXEC) || (held && pipe2(p[3], O_CLOEXEC));
    *c = (struct command){.id = id, .flags = o.flags, .allowed_ns = o.allowed_ns, .note = c->note,
        .in = p[0][1], .out = p[1][0], .err = p[2][0], .go = p[3][1]};
    *c->note = (struct note){0};
    c->pid = failed ? -1 : fork();
    if (c->pid == 0)
        become_command(c, (int[]){p[0][0], p[1][1], p[2][1]}, p[3][0], words,
               words + o.argc + 1, cwd);
    int error = errno;
    free(words);
    for (int i = 0; i < 4; i++) shut(&p[i][i == 1 || i == 2]); /* the child's ends */
    if (c->pid < 0) {
        shut(&c->in), shut(&c->out), shut(&c->err), shut(&c->go);
        return refuse(id, error);
    }
    fcntl(c->in, F_SETFL, O_NONBLOCK); /* our ends only: theirs are other open files */
    fcntl(c->out, F_SETFL, O_NONBLOCK);
    fcntl(c->err, F_SETFL, O_NONBLOCK);
    c->state = o.flags & (ARMED | AFTER_EXEC) ? HELD : RUNS;
    if (held) send_frame('A', id, "", 0); /* AFTER_EXEC: once it stopped there */
    if (c->state == RUNS && c->allowed_ns) c->deadline_ns = now(CLOCK_MONOTONIC) + c->allowed_ns;
}

static void release(struct command *c, uint64_t at)
{
    uint64_t from = at ? at : now(CLOCK_MONOTONIC);
    if (c->state != HELD) return;
    if (c->flags & AFTER_EXEC) {
        c->go_ns = at;
        if (at > now(CLOCK_MONOTONIC)) return; /* the loop comes back then */
        c->note->start_ns = now(CLOCK_MONOTONIC);
        ptrace(PTRACE_DETACH, c->pid, 0, 0);
        c->go_ns = 0;
    } else if (write(c->go, &at, 8) != 8) {
        kill_group(c, SIGKILL);
    }
    shut(&c->go);
    c->state = RUNS;
    if (c->allowed_ns) c->deadline_ns = from + c->allowed_ns;
}

static void feed(struct command *c)
{
    ssize_t n = c->in < 0 ? -1 : write(c->in, c->input + c->taken, c->filled - c->taken);
    if (n < 0 && c->in >= 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) { /* it closed its stdin: the rest is discarded */
        n = c->filled - c->taken;
        shut(&c->in);
    }
    c->taken += n;
    c->owed += n;
    if (c->taken == c->filled) c->taken = c->filled = 0;
    if (c->owed && (!c->filled || c->owed >= WINDOW / 4)) {
        send_frame('W', c->id, &c->owed, 4);
        c->owed = 0;
    }
    if (c->is_fed && !c->filled) {
        if (c->flags & CONNECT) shutdown(c->in, SHUT_WR); /* its output is another descriptor */
        shut(&c->in);
    }
}

static void input(struct command *c, const char *bytes, uint32_t size)
{
    if (!size) c->is_fed = 1;
    if (!c->input && !(c->input = malloc(WINDOW))) leave(5);
    if (c->filled - c->taken + size > WINDOW) leave(4);
    memmove(c->input, c->input + c->taken, c->filled - c->taken);
    c->filled -= c->taken;
    c->taken = 0;
    memcpy(c->input + c->filled, bytes, size);
    c->filled += size;
    feed(c);
}

/* Files of the kernel are read again and again, and stay open: in an emulated guest opening them takes
 * longer than reading. Others may be replaced meanwhile, and are opened each time. */
static struct kept { char *path; int fd; } kept[KEPT];

static int opened(const char *path)
{
    struct kept *unused = NULL;
    if (strncmp(path, "/proc/", 6)) return open(path, O_RDONLY | O_CLOEXEC);
    for (struct kept *k = kept; k < kept + KEPT; k++) {
        if (!k->path) unused = k;
        else if (!strcmp(k->path, path)) return k->fd;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && unused && (unused->path = strdup(path))) unused->fd = fd;
    return fd;
}

/* Closes what is not kept; what failed is opened again next time. */
static void done_with(int fd, int failed)
{
    struct kept *k = kept;
    while (k < kept + KEPT && (!k->path || k->fd != fd)) k++;
    if (k < kept + KEPT && !failed) return;
    close(fd);
    if (k == kept + KEPT) return;
    free(k->path);
    k->path = NULL;
}

/* What does not fit into one answer gets -EFBIG: never a part of a file as if it were the whole. */
static void files(uint32_t id, char *at, uint32_t size)
{
    static char content[FILES];
    uint64_t cpu_ns = now(CLOCK_PROCESS_CPUTIME_ID);
    uint32_t used = sizeof cpu_ns;
    memcpy(content, &cpu_ns, sizeof cpu_ns);
    for (char *last = at + size; at < last && !last[-1]; at += strlen(at) + 1) {
        if (used + 4 > sizeof content) break;
        char *to = content + used + 4;
        uint32_t room = sizeof content - used - 4;
        int fd = opened(at);
        int32_t n = 0, got = fd < 0 ? -errno : 0;
        while (fd >= 0 && (n = pread(fd, to + got, room - got, got)) > 0) got += n;
        if (n < 0) got = -errno;
        if (got > 0 && (uint32_t)got == room) got = -EFBIG;
        if (fd >= 0) done_with(fd, n < 0);
        memcpy(content + used, &got, 4);
        used += 4 + (got > 0 ? got : 0);
    }
    send_frame('F', id, content, used);
}

static void handle(uint8_t type, uint32_t id, char *at, uint32_t size)
{
    struct command *c = commands;
    uint64_t when = 0;
    int32_t signal = SIGKILL;
    while (c < commands + SLOTS && (c->state == FREE || c->state == REPORTED || c->id != id)) c++;
    int is_known = c < commands + SLOTS;
    if (type == 'R' && !is_known) return run(id, at, size);
    if (type == 'F') return files(id, at, size);
    if (type == 'K' && size == 4) memcpy(&signal, at, 4);
    if (type == 'G' && size == 8) memcpy(&when, at, 8);
    if (type == 'P') {
        struct pong p = {now(CLOCK_MONOTONIC), now(CLOCK_REALTIME), now(CLOCK_PROCESS_CPUTIME_ID)};
        char *to = head('P', id, sizeof p + size);
        memcpy(to, &p, sizeof p);
        memcpy(to + sizeof p, at, size);
    } else if (type == 'K' && id == ~0u) {
        sweep();
    } else if (type == 'I' && !is_known && size) {
        send_frame('W', id, &size, 4); /* it has ended meanwhile */
    } else if (is_known && type == 'I') {
        input(c, at, size);
    } else if (is_known && type == 'K' && c->state != ENDED) {
        kill_group(c, signal);
    } else if (is_known && type == 'G') {
        release(c, when);
    }
}

static void receive(void)
{
    size_t from = 0;
    if (in_room - in_to < CHUNK && !(in = realloc(in, in_room += 2 * CHUNK))) leave(5);
    ssize_t n = read(0, in + in_to, in_room - in_to);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) leave(0);
    in_to += n;
    while (in_to - from >= HEAD) {
        uint32_t size, id;
        memcpy(&size, in + from, 4);
        memcpy(&id, in + from + 4, 4);
        if (size > MOST) leave(4);
        if (in_to - from < HEAD + size) break;
        handle(in[from + 8], id, in + from + HEAD, size);
        from += HEAD + size;
    }
    memmove(in, in + from, in_to - from);
    in_to -= from;
}

static void pump(struct command *c, int *fd, uint8_t type)
{
    static char nowhere[CHUNK];
    if (c->state != REPORTED && out_to - out_from >= SOFT) return;
    if (out_to + HEAD + CHUNK > ROOM) compact();
    char *to = c->state == REPORTED ? nowhere : out + out_to + HEAD;
    ssize_t n = read(*fd, to, CHUNK);
    if (n > 0 && to != nowhere) head(type, c->id, n);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) shut(fd);
}

static void reap(void)
{
    struct rusage r;
    int status, pid;
    while ((pid = wait4(-1, &status, WNOHANG, &r)) > 0) {
        struct command *c = commands;
        while (c < commands + SLOTS && (c->pid != pid || c->state == FREE || c->state > RUNS)) c++;
        if (c == commands + SLOTS) continue; /* an orphan that was adopted */
        if (WIFSTOPPED(status)) {
            if (c->state == HELD) send_frame('A', c->id, "", 0);
            continue;
        }
        uint64_t t = now(CLOCK_MONOTONIC);
        c->end = (struct ended){status, c->note->error, c->end.flags, 0, c->note->start_ns, t,
            r.ru_utime.tv_sec * 1000000ull + r.ru_utime.tv_usec,
            r.ru_stime.tv_sec * 1000000ull + r.ru_stime.tv_usec, r.ru_maxrss, r.ru_minflt,
            r.ru_majflt, r.ru_inblock, r.ru_oublock, r.ru_nvcsw, r.ru_nivcsw};
        c->state = ENDED;
        c->until_ns = t + LINGER_NS;
        c->deadline_ns = c->go_ns = 0;
        shut(&c->in), shut(&c->go);
    }
}

/* Does what is due for one command; returns the next moment at which something will be due. */
static uint64_t due(struct command *c)
{
    uint64_t t = now(CLOCK_MONOTONIC), next = ~0ull;
    if (c->deadline_ns && t >= c->deadline_ns) {
        c->end.flags |= TIMED_OUT;
        c->deadline_ns = 0;
        kill_group(c, SIGKILL);
    }
    if (c->go_ns && t >= c->go_ns) release(c, c->go_ns);
    if (c->flags & CONNECT && c->state == RUNS && c->out < 0) {
        shut(&c->in);
        c->state = ENDED;
    }
    /* Nothing is read while the client takes nothing: that is no daemon that holds the pipes. */
    if (c->state == ENDED && out_to - out_from >= SOFT) c->until_ns = t + LINGER_NS;
    if (c->state == ENDED && ((c->out < 0 && c->err < 0) || t >= c->until_ns)) {
        if (c->out >= 0) pump(c, &c->out, 'O'); /* all that a pipe holds, if this comes late */
        if (c->err >= 0) pump(c, &c->err, 'E');
        if (c->out >= 0 || c->err >= 0) c->end.flags |= PIPES_HELD;
        send_frame('X', c->id, &c->end, sizeof c->end);
        free(c->input);
        c->input = NULL;
        c->state = REPORTED;
    }
    if (c->state == REPORTED && c->out < 0 && c->err < 0) c->state = FREE;
    if (c->deadline_ns) next = MIN(next, c->deadline_ns);
    if (c->go_ns) next = MIN(next, c->go_ns);
    if (c->state == ENDED) next = MIN(next, c->until_ns);
    return next;
}

static void on_signal(int signal)
{
    if (signal != SIGCHLD) should_end = 1;
}

static void serve(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    unlink(path);
    mode_t before = umask(077);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 1) < 0) exit(6);
    umask(before);
    struct pollfd p = {fd, POLLIN, 0};
    int one = poll(&p, 1, CONNECT_MS) == 1 ? accept(fd, NULL, NULL) : -1;
    unlink(path);
    if (one < 0) exit(6);
    dup2(one, 0), dup2(one, 1);
    close(one), close(fd);
}

static void pass_on(int signal)
{
    if (worker > 0) kill(worker, signal);
}

/* Returns in the worker only. */
static void supervise(void)
{
    int status = 0, signals[] = {SIGTERM, SIGHUP, SIGINT};
    pid_t first = getpid(), pid;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &(struct sigaction){.sa_handler = pass_on}, NULL);
    worker = fork();
    self = getpid();
    if (worker == 0) {
        setsid(); /* who kills the group of the first does not kill both at once */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != first) _exit(1);
        return;
    }
    if (worker < 0) _exit(5);
    while ((pid = wait(&status)) != worker)
        if (pid < 0 && errno != EINTR) break;
    worker = 0;
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status)); /* it has swept */
    leave(1);
}

int main(int argc, char **argv)
{
    int signals[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT};
    sigset_t blocked, none;
    sigemptyset(&none);
    sigemptyset(&blocked);
    for (int fd = 3; fd < 256; fd++) close(fd);
    supervise();
    if (argc > 1)
        serve(argv[1]);
    else
        unlink(argv[0]); /* it was put here for this run alone */
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 4; i++) {
        sigaction(signals[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
        sigaddset(&blocked, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, NULL); /* delivered during ppoll only */
    int adopts = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
    struct note *notes = mmap(NULL, SLOTS * sizeof *notes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED) return 5;
    for (int i = 0; i < SLOTS; i++) commands[i].note = notes + i;
    struct hello h = {VERSION, self, SLOTS, WINDOW, adopts, 0};
    send_frame('H', 0, &h, sizeof h);
    for (;;) {
        struct pollfd fds[2 + 3 * SLOTS] = {{0, POLLIN, 0}};
        int at[SLOTS], n = 2;
        uint64_t next = ~0ull, t;
        for (int i = 0; i < SLOTS; i++)
            if (commands[i].state != FREE) next = MIN(next, due(commands + i));
        flush(); /* before deciding what may be read: nothing else would wake a full buffer */
        for (int i = 0; i < SLOTS; i++) {
            struct command *c = commands + i;
            if (c->state == FREE) continue;
            at[i] = n;
            int reads = out_to - out_from < SOFT || c->state == REPORTED;
            fds[n++] = (struct pollfd){c->filled ? c->in : -1, POLLOUT, 0};
            fds[n++] = (struct pollfd){reads ? c->out : -1, POLLIN, 0};
            fds[n++] = (struct pollfd){reads ? c->err : -1, POLLIN, 0};
        }
        fds[1] = (struct pollfd){1, out_from < out_to ? POLLOUT : 0, 0};
        t = now(CLOCK_MONOTONIC);
        uint64_t left = next == ~0ull ? 0 : next > t ? next - t : 0;
        struct timespec wait = {left / 1000000000, left % 1000000000};
        int got = ppoll(fds, n, next == ~0ull ? NULL : &wait, &none);
        if (should_end || (got > 0 && fds[1].revents & (POLLERR | POLLNVAL))) leave(1);
        for (int i = 0; got > 0 && i < SLOTS; i++) { /* before orders are read: no new commands yet */
            struct command *c = commands + i;
            if (c->state == FREE) continue;
            if (c->in >= 0 && fds[at[i]].revents) feed(c);
            if (c->out >= 0 && fds[at[i] + 1].revents) pump(c, &c->out, 'O');
            if (c->err >= 0 && fds[at[i] + 2].revents) pump(c, &c->err, 'E');
        }
        reap();
        if (got > 0 && fds[0].revents) receive();
    }
}
