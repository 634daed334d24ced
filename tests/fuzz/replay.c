/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - runs a fuzz target without a fuzzer: every file of its corpus, and pseudo-random mutations
 * of it.
 *
 * usage: fuzz_NAME [FOLDER [MUTATIONS]]; the default folder is tests/fuzz/corpus/NAME of the source tree.
 * Prints TAP. A failing input is left in the file replay.failed: run the target on a folder that holds just
 * this file. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { MAX_SIZE = 1 << 16, DEFAULT_MUTATIONS = 2000, MAX_FILES = 256 };

/* The input in work, for the handler that saves it. */
static uint8_t current[MAX_SIZE];
static volatile size_t current_size;

static void save_and_die(int number)
{
    FILE *f = fopen("replay.failed", "wb");
    if (f != NULL) {
        fwrite(current, 1, current_size, f);
        fclose(f);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void run_one(const uint8_t *data, size_t size)
{
    /* A block of exactly this size lets the sanitizers see every read beyond it. */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    FUZZ_REQUIRE(exact != NULL);
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

/* Changes the current input in place: bits, bytes, numbers, cuts, repeated and removed pieces. */
static void mutate(uint64_t *state)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       0x7f,
                                       0xff,
                                       0x7fff,
                                       0xffff,
                                       0x7fffffff,
                                       0xffffffff,
                                       UINT64_MAX,
                                       UINT64_MAX / 2,
                                       0x7ff8000000000000,
                                       0x7ff0000000000000,
                                       8,
                                       1u << 20};
    size_t n = current_size;
    size_t at = n > 0 ? next(state) % n : 0;
    size_t len = 1 + next(state) % 16;
    switch (next(state) % 8) {
    case 0:
    case 1:
        if (n > 0) {
            current[at] = (uint8_t)(current[at] ^ 1u << next(state) % 8);
        }
        break;
    case 2:
        if (n > 0) {
            current[at] = (uint8_t)next(state);
        }
        break;
    case 3:
    case 4: {
        uint64_t v = numbers[next(state) % (sizeof numbers / sizeof numbers[0])];
        size_t width = (size_t)1 << next(state) % 4;
        if (next(state) % 2 == 0) {
            at &= ~(size_t)7;
        }
        if (at + width <= n) {
            memcpy(current + at, &v, width);
        }
        break;
    }
    case 5:
        current_size = at;
        break;
    case 6:
        if (n + len <= MAX_SIZE) {
            memmove(current + at + len, current + at, n - at);
            current_size = n + len;
        }
        break;
    default:
        if (at + len <= n) {
            memmove(current + at, current + at + len, n - at - len);
            current_size = n - len;
        }
    }
}

static size_t read_file(const char *folder, const char *name, uint8_t *out)
{
    char path[4096 + 300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        printf("Bail out! cannot read %s\n", path);
        exit(1);
    }
    size_t n = fread(out, 1, MAX_SIZE, f);
    fclose(f);
    return n;
}

int main(int argc, char **argv)
{
    const char *top = getenv("DS_TOP_SRC");
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top != NULL ? top : ".",
             program_invocation_short_name + strlen("fuzz_"));
    if (argc > 1) {
        snprintf(folder, sizeof folder, "%s", argv[1]);
    }
    long mutations = argc > 2 ? atol(argv[2]) : DEFAULT_MUTATIONS;
    struct dirent **files;
    int count = scandir(folder, &files, NULL, alphasort);
    if (count < 0) {
        printf("Bail out! cannot read folder %s\n", folder);
        return 1;
    }
    signal(SIGABRT, save_and_die);
    signal(SIGSEGV, save_and_die);
    signal(SIGFPE, save_and_die);
    static uint8_t seed[MAX_SIZE];
    int done = 0;
    for (int i = 0; i < count; i++) {
        if (files[i]->d_name[0] != '.') {
            size_t size = read_file(folder, files[i]->d_name, seed);
            uint64_t state = 1234567u + (uint64_t)i;
            memcpy(current, seed, size);
            current_size = size;
            run_one(current, current_size);
            for (long k = 0; k < mutations; k++) {
                /* Mostly a few changes to the file, sometimes a longer walk away from it. */
                if (k % 4 == 0 || current_size == 0) {
                    memcpy(current, seed, size);
                    current_size = size;
                }
                for (uint32_t m = 1 + next(&state) % 3; m > 0; m--) {
                    mutate(&state);
                }
                run_one(current, current_size);
            }
            printf("ok %d - %s and %ld mutations\n", ++done, files[i]->d_name, mutations);
        }
        free(files[i]);
    }
    free(files);
    printf("1..%d\n", done);
    return done > 0 ? 0 : 1;
}
