/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - runs fuzz targets: by libFuzzer where that is built in (DS_FUZZ_TARGET names the target), else on
 * every file of their corpora and on pseudo-random mutations of it.
 *
 * usage: fuzz [TARGET [FOLDER [MUTATIONS]]]; the default is all targets, each with the folder
 * tests/fuzz/corpus/TARGET of the source tree. Prints TAP. A failing input is left in the file replay.failed:
 * run the target on a folder that holds just this file. */
#include "config.h"

#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define ENTRY(name) {#name, fuzz_##name},
static const struct target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {FUZZ_TARGETS(ENTRY)};
enum { TARGETS = sizeof targets / sizeof *targets };

static const struct target *find(const char *name)
{
    for (size_t k = 0; name != NULL && k < TARGETS; k++) {
        if (strcmp(targets[k].name, name) == 0) {
            return &targets[k];
        }
    }
    fprintf(stderr, "fuzz: there is no target '%s'; see FUZZ_TARGETS in tests/fuzz/fuzz.h\n",
            name ? name : "");
    exit(2);
}

#ifdef DS_FUZZERS
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct target *chosen;
    chosen = chosen != NULL ? chosen : find(getenv("DS_FUZZ_TARGET"));
    return chosen->run(data, size);
}

#else
enum { MAX_SIZE = 1 << 16, DEFAULT_MUTATIONS = 2000 };

/* The current input, for the handler that saves it. */
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

static void run_one(const struct target *target, const uint8_t *data, size_t size)
{
    /* A block of exactly this size lets the sanitizers see every read beyond it. */
    uint8_t *exact = malloc(size > 0 ? size : 1);
    FUZZ_REQUIRE(exact != NULL);
    memcpy(exact, data, size);
    target->run(exact, size);
    free(exact);
}

/* Changes the current input in place: bits, bytes, numbers, truncations, repeated and removed pieces. */
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

/* Prints a line for each file of the folder; returns how many lines there are now, `done` before. */
static int replay(const struct target *target, const char *folder, long mutations, int done)
{
    static uint8_t seed[MAX_SIZE];
    struct dirent **files;
    int count = scandir(folder, &files, NULL, alphasort);
    if (count < 0) {
        printf("Bail out! cannot read folder %s\n", folder);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        if (files[i]->d_name[0] != '.') {
            size_t size = read_file(folder, files[i]->d_name, seed);
            uint64_t state = 1234567u + (uint64_t)i;
            memcpy(current, seed, size);
            current_size = size;
            run_one(target, current, current_size);
            for (long k = 0; k < mutations; k++) {
                /* Mostly a few changes to the file, sometimes a longer walk away from it. */
                if (k % 4 == 0 || current_size == 0) {
                    memcpy(current, seed, size);
                    current_size = size;
                }
                for (uint32_t m = 1 + next(&state) % 3; m > 0; m--) {
                    mutate(&state);
                }
                run_one(target, current, current_size);
            }
            printf("ok %d - %s: %s and %ld mutations\n", ++done, target->name, files[i]->d_name, mutations);
        }
        free(files[i]);
    }
    free(files);
    return done;
}

int main(int argc, char **argv)
{
    const char *top = getenv("DS_TOP_SRC");
    const struct target *only = argc > 1 ? find(argv[1]) : NULL;
    const long mutations = argc > 3 ? atol(argv[3]) : DEFAULT_MUTATIONS;
    char folder[4096];
    int done = 0;
    signal(SIGABRT, save_and_die);
    signal(SIGSEGV, save_and_die);
    signal(SIGFPE, save_and_die);
    for (size_t k = 0; k < TARGETS; k++) {
        if (only == NULL || only == &targets[k]) {
            snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top != NULL ? top : ".",
                     targets[k].name);
            const int before = done;
            done = replay(&targets[k], argc > 2 ? argv[2] : folder, mutations, done);
            if (done == before) {
                printf("Bail out! no input for %s\n", targets[k].name);
                return 1;
            }
        }
    }
    printf("1..%d\n", done);
    return 0;
}
#endif
