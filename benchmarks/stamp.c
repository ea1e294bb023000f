/* Prints CLOCK_MONOTONIC as it was at its first instruction, in ns; without a libc, which would take
 * its time first. gcc -static -nostdlib -nostartfiles -Os -s -o stamp stamp.c (x86-64 only)
 */
static long sys(long n, long a, long b, long c)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
static char *put(char *at, unsigned long v)
{
    char d[24];
    int n = 0;
    do d[n++] = '0' + v % 10; while (v /= 10);
    while (n) *at++ = d[--n];
    return at;
}
__attribute__((force_align_arg_pointer)) void _start(void)
{
    long m[2];
    char line[64], *at = line;
    sys(228, 1, (long)m, 0);
    at = put(at, m[0] * 1000000000 + m[1]);
    *at++ = '\n';
    sys(1, 1, (long)line, at - line);
    sys(60, 0, 0, 0);
}
