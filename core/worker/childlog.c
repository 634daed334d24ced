/* SPDX-License-Identifier: Apache-2.0 */
/* childlog.c - lines of worker processes become messages of the host, at most LINES_PER_SECOND. */
#include "config.h"

#include "worker/childlog.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"

enum { LINES_PER_SECOND = 20 };

static void note_suppressed(ds_childlog *log)
{
    if (log->suppressed > 0) {
        ds_log(DS_LOG_WARNING, log->source, "%llu more lines of output in one second are not shown",
               (unsigned long long)log->suppressed);
        log->suppressed = 0;
    }
}

/* A worker's own messages arrive as "dshost: LEVEL: text" (log.h); everything else was printed by the plugin.
 */
static void show(ds_childlog *log)
{
    static const char own[] = "dshost: ";
    static const char *const prefix[] = {"debug: ", "", "warning: ", "error: "};
    const char *text = log->line;
    log->line[log->used] = '\0';
    log->used = 0;
    uint64_t second = ds_clock_ns() / 1000000000u;
    if (second != log->second) {
        log->second = second;
        log->lines = 0;
        note_suppressed(log);
    }
    if (log->lines >= LINES_PER_SECOND) {
        log->suppressed++;
        return;
    }
    log->lines++;
    if (strncmp(text, own, sizeof(own) - 1) != 0) {
        ds_log(DS_LOG_INFO, log->source, "%s", text);
        return;
    }
    text += sizeof(own) - 1;
    for (uint32_t level = DS_LOG_DEBUG; level <= DS_LOG_ERROR; level++) {
        size_t len = strlen(prefix[level]);
        if (len > 0 && strncmp(text, prefix[level], len) == 0) {
            ds_log(level, NULL, "%s", text + len);
            return;
        }
    }
    ds_log(DS_LOG_INFO, NULL, "%s", text);
}

void ds_childlog_feed(ds_childlog *log, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n') {
            show(log);
        } else if (log->used < sizeof(log->line) - 1) {
            log->line[log->used++] = (char)(c < 32 && c != '\t' ? '?' : c);
        }
    }
}

void ds_childlog_end(ds_childlog *log)
{
    if (log->used > 0) {
        show(log);
    }
    note_suppressed(log);
}
