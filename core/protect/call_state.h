/* SPDX-License-Identifier: Apache-2.0 */
/* surroundings.h - what code of others may change for a whole thread or process, and numbers depend on: the
 * locale, and the floating-point mode. setlocale() acts on every thread that has no locale of its own, so
 * whatever of the host writes or reads numbers has one. [any, as all functions here] */
#ifndef DS_PROTECT_CALL_STATE_H
#define DS_PROTECT_CALL_STATE_H

#include <locale.h>
#include <stdint.h>

/* This thread writes and reads text as the "C" locale does, whatever is said to setlocale(). For the threads
 * of the host, first thing. Returns the locale that it had. */
locale_t ds_locale_use_c(void);

/* The same until the end of a block, for functions that threads of others call; ds_locale_before is
 * theirs. */
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

/* Puts the mode back where a call of a plugin has left another one. */
static inline void ds_fp_mode_restore(uint32_t mode)
{
    if (ds_fp_mode() == mode) {
        return;
    }
#if defined(__x86_64__)
    uint16_t x87 = (uint16_t)(0x037f | (mode >> 13 & 3) << 10); /* the same rounding; else as at a start */
    __builtin_ia32_ldmxcsr(mode);
    __asm__ volatile("fldcw %0" : : "m"(x87));
#elif defined(__aarch64__)
    uint64_t fpcr = mode;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
}

/* Both, around a call of a plugin. */
typedef struct ds_call_state {
    locale_t locale;
    uint32_t fp;
} ds_call_state;

static inline ds_call_state ds_call_state_save(void)
{
    return (ds_call_state){uselocale((locale_t)0), ds_fp_mode()};
}

/* From one to the other; where they are alike, as nearly always, it costs two comparisons. */
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

/* What a process has once, as it was before code of others ran in it, which is called seldom: working
 * directory, umask, signals and the mask of this thread, and what is above. What is printed meanwhile goes
 * to stderr: stdout is for data. */
typedef struct ds_process_state ds_process_state;
ds_process_state *ds_process_state_save(void);
/* Puts it back, and releases it; NULL is fine. */
void ds_process_state_restore(ds_process_state *s);

#endif
