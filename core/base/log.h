/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - messages and the progress line, on stderr. Thread-safe; a message never tears the progress line. */
#ifndef DS_BASE_LOG_H
#define DS_BASE_LOG_H

#include <diffsim/base.h>
#include <diffsim/host.h>
#include <stddef.h>

/* Drops messages below this level; default DS_LOG_INFO. */
void ds_log_set_level(uint32_t level);

/* Prints one line "dshost: text" ("dshost: warning: ..." and so on). `source`, where not NULL, names the
 * plugin: "torus: ". */
void ds_log(uint32_t level, const char *source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a text that several workers send; the first 64 different texts are printed once each,
 * further ones each time. */
void ds_log_once(uint32_t level, const char *text);

/* Shows a progress line: on a terminal it replaces the last one, elsewhere it becomes a line at most every 10
 * s. An empty string removes it. Make lines for ds_log_columns(); a longer one ends with a whole word. */
void ds_log_progress(const char *line);

/* Width of a progress line: the columns of the terminal minus one, or COLUMNS where it is smaller; SIZE_MAX
 * where stderr is not a terminal. A longer line would wrap, and only its last row could be erased. */
size_t ds_log_columns(void);

/* Is stderr a terminal that understands carriage returns? */
int ds_log_is_terminal(void);

#endif
