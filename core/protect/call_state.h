/* SPDX-License-Identifier: Apache-2.0 */
/* call_state.h - locale and floating-point mode: numbers depend on them, and third-party code may change them
 * for a whole thread or process. setlocale() affects every thread without its own locale, so threads of the
 * host that read or write numbers set one. [any, as all functions here] */
#ifndef DS_PROTECT_CALL_STATE_H
#define DS_PROTECT_CALL_STATE_H

#include <locale.h>
#include <stdint.h>

/* Makes this thread read and write text as in the "C" locale, whatever setlocale() sets. Threads of the host
 * call it first. Returns the locale before. */
locale_t ds_locale_use_c(void);

/* The same until the end of a block, for functions that threads of a program call; ds_locale_before is the
 * program's locale. */
static inline void ds_locale_restore(locale_t *before)
{
    uselocale(*before);
}
#define DS_LOCALE_C_HERE                                                                                     \
    __attribute__((cleanup(ds_locale_restore), unused)) locale_t ds_locale_before = ds_locale_use_c()

/* Rounding, traps, and denormals as zero; without the sticky flags. */
static inline uint32_t ds_fp_mode(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3fu;
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (uint32_t)fpcr;
#else
    return 0;
#endif
}

/* Restores the mode if a call of a plugin changed it. */
static inline void ds_fp_mode_restore(uint32_t mode)
{
    if (ds_fp_mode() == mode) {
        return;
    }
#if defined(__x86_64__)
    /* the same rounding; all else as at process start */
    uint16_t x87 = (uint16_t)(0x037f | (mode >> 13 & 3) << 10);
    __builtin_ia32_ldmxcsr(mode);
    __asm__ volatile("fldcw %0" : : "m"(x87));
#elif defined(__aarch64__)
    uint64_t fpcr = mode;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
}

/* Both, saved around a call of a plugin. */
typedef struct ds_call_state {
    locale_t locale;
    uint32_t fp;
} ds_call_state;

static inline ds_call_state ds_call_state_save(void)
{
    return (ds_call_state){uselocale((locale_t)0), ds_fp_mode()};
}

/* Switches from one state to the other. Costs two comparisons where they are equal, which is the usual case.
 */
static inline void ds_call_state_switch(const ds_call_state *from, const ds_call_state *to)
{
    if (from->locale != to->locale) {
        uselocale(to->locale);
    }
    if (from->fp != to->fp) {
        ds_fp_mode_restore(to->fp);
    }
}

static inline void ds_call_state_restore(const ds_call_state *before)
{
    const ds_call_state now = ds_call_state_save();
    ds_call_state_switch(&now, before);
}

/* The state that a process has once, for calls that happen rarely: working directory, umask, signal handlers
 * and signal mask, and the thread's state above. Between save and restore, output to stdout goes to stderr,
 * because stdout carries data. */
typedef struct ds_process_state ds_process_state;
ds_process_state *ds_process_state_save(void);
/* Restores the state and frees it; accepts NULL. */
void ds_process_state_restore(ds_process_state *s);

#endif
