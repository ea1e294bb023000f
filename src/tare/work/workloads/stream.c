/* stream ARRAY_BYTES THREADS RUNS: STREAM by McCalpin's definition (not his source).
 *
 * Copy, scale, add and triad on three arrays of doubles; the best time of each after the first run
 * counts, and in the end the arrays must hold what the same steps make of three single numbers. */
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads one line of what the kernel says of a cache; an empty one where there is none. */
static char *cache(int cpu, int index, const char *key, char line[4096]) {
    char path[99];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, key);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, 4096, file)) line[0] = 0;
    if (file) fclose(file);
    return line;
}

/* The first of our CPUs in a list such as 0-3,8-11, so that a cache they share counts once. */
static int first(const cpu_set_t *ours, char *list) {
    for (char *end = list;; list = end + 1) {
        long cpu = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : cpu;
        for (; cpu <= last; cpu++)
            if (CPU_ISSET(cpu, ours)) return cpu;
        if (*end != ',') return -1;
    }
}

/* The sum of the last-level caches of our CPUs; 0 is not known, as in some guests. */
static long caches_bytes(void) {
    char line[4096];
    long sum_bytes = 0;
    cpu_set_t ours;
    CPU_ZERO(&ours);
    sched_getaffinity(0, sizeof ours, &ours);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = -1, highest = 0;
        for (int index = 0; CPU_ISSET(cpu, &ours) && *cache(cpu, index, "level", line); index++)
            if (atoi(line) > highest) highest = atoi(line), last = index;
        if (last >= 0 && first(&ours, cache(cpu, last, "shared_cpu_list", line)) == cpu)
            sum_bytes += 1024 * atol(cache(cpu, last, "size", line));
    }
    return sum_bytes;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    double begin_s = omp_get_wtime(), best_s[] = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    long bytes = atol(words[1]), n = bytes / sizeof(double), runs = atol(words[3]);
    double *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    double scalar = 3, one_a = 1, one_b = 2, one_c = 0, error = 0;
    if (!a || !b || !c) return fprintf(stderr, "stream: no memory for 3 x %ld B\n", bytes), 1;
    omp_set_dynamic(0);
    omp_set_num_threads(atoi(words[2]));
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    /* Each thread is the first to touch what it will work on, so that it lies near. */
#pragma omp parallel for
    for (long i = 0; i < n; i++) a[i] = one_a, b[i] = one_b, c[i] = one_c;
    for (long run = 0; run < runs; run++) {
        double at_s[5] = {omp_get_wtime()};
#pragma omp parallel for
        for (long i = 0; i < n; i++) c[i] = a[i];
        at_s[1] = omp_get_wtime();
#pragma omp parallel for
        for (long i = 0; i < n; i++) b[i] = scalar * c[i];
        at_s[2] = omp_get_wtime();
#pragma omp parallel for
        for (long i = 0; i < n; i++) c[i] = a[i] + b[i];
        at_s[3] = omp_get_wtime();
#pragma omp parallel for
        for (long i = 0; i < n; i++) a[i] = b[i] + scalar * c[i];
        at_s[4] = omp_get_wtime();
        one_b = scalar * one_a, one_c = one_a + one_b, one_a = one_b + scalar * one_c;
        for (int step = 0; run > 0 && step < 4; step++)
            best_s[step] = fmin(best_s[step], at_s[step + 1] - at_s[step]);
    }
    for (long i = 0; i < n; i++)
        error += fabs(a[i] / one_a - 1) + fabs(b[i] / one_b - 1) + fabs(c[i] / one_c - 1);
    printf("{\"caches_bytes\": %ld, \"array_bytes\": %ld, \"threads\": %d, \"runs\": %ld, "
           "\"error\": %.6g", caches_bytes(), bytes, threads, runs, error / n);
    const char *steps[] = {"copy", "scale", "add", "triad"};
    for (int step = 0; step < 4; step++) {
        double moved = bytes * (step < 2 ? 2.0 : 3.0);
        printf(", \"%s\": {\"bytes\": %.0f, \"best_s\": %.9f, \"bytes_per_s\": %.9g}", steps[step],
               moved, best_s[step], moved / best_s[step]);
    }
    printf(", \"total_s\": %.9f}\n", omp_get_wtime() - begin_s);
    return 0;
}
