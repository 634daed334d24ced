/* SPDX-License-Identifier: Apache-2.0 */
/* crash.h - last words where code of others that runs in this process crashes or calls exit(). Only
 * programs of dshost have them: of another program that uses libdiffsim the signals are its own. */
#ifndef DS_PROTECT_CRASH_H
#define DS_PROTECT_CRASH_H

/* This is a program of dshost. Without it, nothing of this header does anything. */
void ds_crash_allow(void);

/* From here on a crash of this process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, exit()) prints `text`
 * behind the name of the signal, calls `save` (async-signal-safe; NULL = nothing to save; 0 = not all could
 * be), and ends with DS_EXIT_PLUGIN. All must live until the next watch or unwatch. */
void ds_crash_watch(const char *text, int (*save)(void *ctx), void *ctx);
void ds_crash_unwatch(void);

/* Is a text set? */
int ds_crash_watched(void);

/* From here on this process ends at once when main() is done: destructors of others, which may hang or call
 * exit(), do not run. */
void ds_crash_end_at_once(void);
int ds_crash_ends_at_once(void);

#endif
