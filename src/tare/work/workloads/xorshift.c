/* xorshift ROUNDS: so many times 100,000 steps of Marsaglia's generator (2003), each of which needs
 * the one before. Nothing is read, and no two steps overlap, so that a neighbour on the same core
 * takes less from it than from other work.
 *
 * Twenty steps in a row, because an emulator translates a loop's body as one block, and keeps the
 * state in memory between two blocks: with one step in each, trials in QEMU's TCG took from 0.3 to
 * 1.1 s, as the processor could or could not see through that memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEP state ^= state << 13; state ^= state >> 7; state ^= state << 17;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + 1e-9 * at.tv_nsec;
}

int main(int argc, char **argv) {
    long rounds = argc == 2 ? atol(argv[1]) : 0, done = 0;
    uint64_t state = 88172645463325252;
    double begun = now();
    for (; done < rounds; done++)
        for (int step = 0; step < 100000; step += 20) {
            STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
            STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
        }
    printf("{\"rounds\": %ld, \"state\": \"%016lx\", \"seconds\": %.9f}\n", done, state,
           now() - begun);
}
