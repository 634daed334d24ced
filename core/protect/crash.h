/* SPDX-License-Identifier: Apache-2.0 */
/* crash.h - the last message when third-party code in this process crashes or calls exit(). Only for programs
 * of dshost: a program that uses libdiffsim owns its signals. */
#ifndef DS_PROTECT_CRASH_H
#define DS_PROTECT_CRASH_H

/* Declares that this is a program of dshost. Without this call the other functions do nothing. */
void ds_crash_allow(void);

/* From now on a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) or exit() prints the name of the signal and
 * `text`, calls `save` (async-signal-safe, NULL = nothing to save; returns 0 if it could not save
 * everything), and ends the process with DS_EXIT_PLUGIN. `text`, `save` and `ctx` must live until the next
 * watch or unwatch. */
void ds_crash_watch(const char *text, int (*save)(void *ctx), void *ctx);
void ds_crash_unwatch(void);

/* Is a text set? */
int ds_crash_watched(void);

/* From now on the process ends with _exit() after main(): third-party destructors, which may hang or call
 * exit(), do not run. */
void ds_crash_end_at_once(void);
int ds_crash_ends_at_once(void);

#endif
