/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.c - describes processor, C library, BLAS and their variables, and starts programs in portable
 * mode. */
#include "config.h"

#include "arithmetic/arithmetic.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

void ds_processor_name(char *out, size_t size)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(out, size, "unknown");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            snprintf(out, size, "%s", strchr(line, ':') + 2);
            out[strcspn(out, "\n")] = '\0';
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

const char *ds_instruction_set(void)
{
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    const char *wanted = getenv("DS_ISA");
    int level = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    level = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
                ? 2
                : __builtin_cpu_supports("avx2") != 0;
#endif
    for (int k = 0; wanted != NULL && k < level; k++) {
        level = strcmp(wanted, names[k]) == 0 ? k : level;
    }
    return names[level];
}

/* ---- libm ---- */

static double power(double x)
{
    return pow(fabs(x), 1.0 / x);
}

static double angle(double x)
{
    return atan2(x, 2.0 - x);
}

static double logarithm(double x)
{
    return log(fabs(x)) + log1p(fabs(x));
}

static double arcs(double x)
{
    return asin(x / 30.0) + acos(x / 29.0);
}

static double single(double x)
{
    float y = (float)x;
    return (double)(expf(y) + logf(fabsf(y)) + sinf(y) + powf(fabsf(y), 0.3f));
}

/* A number made of the last bits of functions that C libraries, by version and processor, round differently
 * about once in 2000 calls each. */
enum { LIBM_POINTS = 3000 };

static uint32_t libm_number(void)
{
    static double (*const volatile functions[])(double) = {
        exp, sin, cos, tan, tanh, expm1, atan, sinh, cosh, cbrt, power, angle, logarithm, arcs, single};
    uint64_t number = 14695981039346656037u; /* FNV-1a */
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        for (int k = 0; k < LIBM_POINTS; k++) {
            double y = functions[f](-19.7 + 0.01313 * k);
            uint64_t bits;
            memcpy(&bits, &y, sizeof bits);
            number = (number ^ (isnan(y) ? 0 : bits)) * 1099511628211u;
        }
    }
    return (uint32_t)(number ^ number >> 32);
}

/* ---- all of it ---- */

void ds_arithmetic_describe(const char *const *blas, size_t count, char out[DS_ARITHMETIC_ROOM])
{
    struct utsname system;
    const char *machine = uname(&system) == 0 ? system.machine : "unknown";
    int used =
        snprintf(out, DS_ARITHMETIC_ROOM, "%.30s %s, glibc %s (libm %08x)", machine,
                 ds_portable_on() ? "portable" : ds_instruction_set(), gnu_get_libc_version(), libm_number());
    for (size_t k = 0; k < count; k++) {
        if (blas[k] != NULL && blas[k][0] != '\0' && strstr(out, blas[k]) == NULL) {
            used += snprintf(out + used, DS_ARITHMETIC_ROOM - (size_t)used, ", %.120s", blas[k]);
        }
    }
}

const char *ds_arithmetic_better_kernels(const char *blas)
{
    static const char fallback[] = " Prescott";
    const char *chosen = getenv("OPENBLAS_CORETYPE"), *set = ds_instruction_set(), *last = strrchr(blas, ' ');
    return chosen != NULL || last == NULL || strcmp(last, fallback) != 0 ? NULL
           : strcmp(set, "avx512") == 0                                  ? "SkylakeX"
           : strcmp(set, "avx2") == 0                                    ? "Haswell"
                                                                         : NULL;
}

void ds_arithmetic_variables(char *out, size_t size)
{
    static const char *const prefixes[] = {"OPENBLAS_",       "GOTO_",          "OMP_",   "MKL_",
                                           "BLIS_",           "GLIBC_TUNABLES", "DS_ISA", "LD_PRELOAD",
                                           "LD_LIBRARY_PATH", "MALLOC_"};
    size_t used = 0;
    out[0] = '\0';
    for (char **v = environ; v != NULL && *v != NULL; v++) {
        int mine = 0;
        for (size_t k = 0; !mine && k < sizeof prefixes / sizeof prefixes[0]; k++) {
            mine = strncmp(*v, prefixes[k], strlen(prefixes[k])) == 0;
        }
        /* skips what every command sets, and the variables of portable mode */
        mine = mine && strcmp(*v, "OPENBLAS_NUM_THREADS=1") != 0 && strcmp(*v, "OMP_NUM_THREADS=1") != 0;
        for (size_t k = 0; mine && ds_portable_on() && ds_portable_variable(k) != NULL; k++) {
            mine = strcmp(*v, ds_portable_variable(k)) != 0;
        }
        if (mine && used + strlen(*v) + 2 < size) {
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? " " : "", *v);
        }
    }
}

/* ---- portable mode ---- */

/* The C library ignores unknown names; before glibc 2.33 they ended with _Usable. */
#define HWCAPS "glibc.cpu.hwcaps="
#define WITHOUT_FMA HWCAPS "-FMA,-FMA4,-FMA_Usable,-FMA4_Usable"

/* Variables that must be empty or absent because they change the block sizes of OpenBLAS. */
static const char *const variables[] = {"DS_PORTABLE=1",
                                        "OPENBLAS_CORETYPE=" DS_PORTABLE_BLAS,
                                        "OPENBLAS_NUM_THREADS=1",
                                        "OMP_NUM_THREADS=1",
                                        "GLIBC_TUNABLES=" WITHOUT_FMA,
                                        "OPENBLAS_BLOCK_FACTOR=",
                                        "GOTO_BLOCK_FACTOR=",
                                        "OPENBLAS_L2_SIZE=",
                                        NULL};
static const char tunables[] = "GLIBC_TUNABLES", entered[] = "DS_PORTABLE_PROCESS";

static char **arguments; /* arguments of this program, unchanged */

const char *ds_portable_variable(size_t k)
{
    return variables[k];
}

static int asked(void)
{
    const char *mode = getenv("DS_PORTABLE");
    return mode != NULL && strcmp(mode, "1") == 0;
}

/* The name in "NAME=VALUE"; returns the value. */
static const char *split(const char *variable, char name[40])
{
    size_t n = strcspn(variable, "=");
    snprintf(name, 40, "%.*s", (int)n, variable);
    return variable + n + 1;
}

/* Other tunables may stand next to ours. */
static int has(const char *name, const char *value)
{
    const char *now = getenv(name);
    now = now != NULL ? now : "";
    return strcmp(name, tunables) == 0 ? strstr(now, value) != NULL : strcmp(now, value) == 0;
}

int ds_portable_on(void)
{
    int on = 1;
    char name[40];
    for (int k = 0; on && variables[k] != NULL; k++) {
        const char *value = split(variables[k], name);
        on = has(name, value);
    }
    return on;
}

/* Joins the user's tunables, except those of the processor, with ours. */
static int set_tunables(const char *ours)
{
    const char *old = getenv(tunables);
    size_t room = (old != NULL ? strlen(old) : 0) + strlen(ours) + 2;
    char *text = calloc(1, room);
    for (size_t used = 0; text != NULL && old != NULL && *old != '\0';) {
        size_t n = strcspn(old, ":");
        if (n > 0 && strncmp(old, HWCAPS, strlen(HWCAPS)) != 0) {
            used += (size_t)snprintf(text + used, room - used, "%.*s:", (int)n, old);
        }
        old += n + (old[n] == ':');
    }
    int bad = text == NULL || setenv(tunables, strcat(text, ours), 1) != 0;
    free(text);
    return bad;
}

static int set_variables(void)
{
    int bad = 0;
    char name[40];
    for (int k = 0; variables[k] != NULL; k++) {
        const char *value = split(variables[k], name);
        bad |= strcmp(name, tunables) == 0 ? set_tunables(value) : setenv(name, value, 1) != 0;
    }
    return bad;
}

int ds_portable_enter(ds_error *e)
{
    char process[24];
    const char *before = getenv(entered);
    if (ds_portable_on()) {
        return 0;
    }
#if !defined(__x86_64__)
    return ds_fail(e, DS_EXIT_CONFIG, "portable: this mode needs an x86-64 processor");
#endif
    if (arguments == NULL) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "portable: this program was not started in portable mode, and a library cannot "
                       "restart it; start it with: env $(dshost doctor --portable) PROGRAM");
    }
    /* A process keeps its number when it becomes another program: a second time here would never end. */
    snprintf(process, sizeof process, "%ld", (long)getpid());
    if (before != NULL && strcmp(before, process) == 0) {
        return ds_fail(e, DS_EXIT_IO,
                       "portable: the variables of portable mode do not reach this program (after a restart "
                       "some are still missing); set them with: env $(dshost doctor --portable)");
    }
    fflush(NULL);
    if (set_variables() != 0 || setenv(entered, process, 1) != 0) {
        return ds_no_memory(e);
    }
    execv("/proc/self/exe", arguments);
    return ds_fail(e, DS_EXIT_IO, "portable: this program cannot be restarted: %s", strerror(errno));
}

int ds_portable_begin(int argc, char **argv, ds_error *e)
{
    /* getopt() reorders them, and commands change them. */
    arguments = calloc((size_t)argc + 1, sizeof *arguments);
    for (int k = 0; arguments != NULL && k < argc; k++) {
        arguments[k] = argv[k];
    }
    return arguments == NULL ? ds_no_memory(e) : asked() ? ds_portable_enter(e) : 0;
}
