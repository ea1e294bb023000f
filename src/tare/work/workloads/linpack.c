/* linpack SIZE TIME: solve A x = b by LAPACK's dgesv until TIME seconds were spent in it.
 *
 * Operations are counted as LINPACK does, 2/3 n^3 + 2 n^2 a solve. The residual is HPL's,
 * ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n) in the maximum norm, the largest of all solves. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void dgesv_(int *n, int *columns, double *a, int *lda, int *pivots, double *b, int *ldb, int *info);
char *openblas_get_corename(void);
int openblas_get_num_threads(void);

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static double residual(size_t n, const double *a, const double *b, const double *x, double *rest) {
    double *row = rest + n, off = 0, a_norm = 0, b_norm = 0, x_norm = 0;
    for (size_t i = 0; i < n; i++) rest[i] = -b[i], row[i] = 0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            rest[i] += a[j * n + i] * x[j], row[i] += fabs(a[j * n + i]);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(rest[i]) <= off)) off = fabs(rest[i]); /* what is not a number stays */
        a_norm = fmax(a_norm, row[i]), b_norm = fmax(b_norm, fabs(b[i]));
        x_norm = fmax(x_norm, fabs(x[i]));
    }
    return off / (DBL_EPSILON / 2 * (a_norm * x_norm + b_norm) * n);
}

int main(int count, char **words) {
    if (count != 3) return 2;
    int n = atoi(words[1]), one = 1, info = 0, solves = 0, *pivots = malloc(n * sizeof *pivots);
    double begin_s = now_s(), solve_s = 0, time_s = atof(words[2]), worst = 0;
    size_t cells = (size_t)n * n;
    double *a = malloc((2 * cells + 4 * n) * 8), *lu = a + cells, *b = lu + cells, *x = b + n;
    if (!a || !pivots) return fprintf(stderr, "linpack: no memory for size %d\n", n), 1;
    for (size_t i = 0; i < cells; i++) a[i] = random() / (double)RAND_MAX - 0.5;
    for (int i = 0; i < n; i++) b[i] = random() / (double)RAND_MAX - 0.5;
    for (; solve_s < time_s; solves++) {
        memcpy(lu, a, cells * 8), memcpy(x, b, n * 8);
        double start_s = now_s();
        dgesv_(&n, &one, lu, &n, pivots, x, &n, &info);
        solve_s += now_s() - start_s;
        if (info) return fprintf(stderr, "linpack: dgesv says %d\n", info), 1;
        double found = residual(n, a, b, x, x + n);
        if (!(found <= worst)) worst = found;
    }
    double flop = (2.0 / 3 * n * n * n + 2.0 * n * n) * solves;
    printf("{\"core\": \"%s\", \"threads\": %d, \"size\": %d, \"solves\": %d, \"residual\": %.6g, "
           "\"flop\": %.9g, \"solve_s\": %.9f, \"flops\": %.9g, \"total_s\": %.9f}\n",
           openblas_get_corename(), openblas_get_num_threads(), n, solves, worst, flop, solve_s,
           flop / solve_s, now_s() - begin_s);
    return 0;
}
