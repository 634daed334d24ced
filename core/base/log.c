/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - messages and the progress line on stderr. */
#include "config.h"

#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t threshold = DS_LOG_INFO;
static char shown[512]; /* the progress line on the terminal */
static double last_plain = -1e9;

void ds_log_set_level(uint32_t level)
{
    threshold = level;
}

int ds_log_is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

size_t ds_log_columns(void)
{
    struct winsize w;
    int64_t told = 0;
    const char *text = getenv("COLUMNS");
    if (!ds_log_is_terminal()) {
        return SIZE_MAX;
    }
    size_t columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 0;
    if (text != NULL && ds_parse_int(text, &told) && told > 0 && (columns == 0 || (size_t)told < columns)) {
        columns = (size_t)told;
    }
    return columns > 1 ? columns - 1 : columns == 0 ? 79 : 1;
}

/* Cuts a line made for a wider terminal before the word that does not fit. */
static void cut(char *line, size_t columns)
{
    size_t n = 0;
    char *word = line;
    for (char *c = line; *c != '\0'; c++) {
        n += ((unsigned char)*c & 0xc0) != 0x80;
        if (n > columns) {
            *word = '\0';
            return;
        }
        word = c[1] == ' ' ? c + 1 : word;
    }
}

static void erase(void)
{
    if (shown[0] != '\0') {
        fputs("\r\033[K", stderr);
    }
}

void ds_log(uint32_t level, const char *source, const char *format, ...)
{
    static const char *const prefix[] = {"debug: ", "", "warning: ", "error: "};
    char text[1100], whole[DS_TEXT_LONG];
    va_list ap;

    if (level < threshold) {
        return;
    }
    va_start(ap, format);
    vsnprintf(whole, sizeof whole, format, ap);
    va_end(ap);
    ds_text_shorten(text, sizeof text, whole);
    pthread_mutex_lock(&lock);
    erase();
    fprintf(stderr, "dshost: %s%s%s%s\n", prefix[level <= DS_LOG_ERROR ? level : DS_LOG_ERROR],
            source != NULL ? source : "", source != NULL ? ": " : "", text);
    if (shown[0] != '\0') {
        fputs(shown, stderr);
    }
    fflush(stderr);
    pthread_mutex_unlock(&lock);
}

/* FNV-1a */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return hash;
}

void ds_log_once(uint32_t level, const char *text)
{
    static uint64_t seen[64];
    static size_t count;
    const uint64_t hash = hash_of(text);
    int again = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        again |= seen[i] == hash;
    }
    if (!again && count < sizeof seen / sizeof *seen) {
        seen[count++] = hash;
    }
    pthread_mutex_unlock(&lock);
    if (!again) {
        ds_log(level, NULL, "%s", text);
    }
}

void ds_log_progress(const char *line)
{
    pthread_mutex_lock(&lock);
    if (ds_log_is_terminal()) {
        erase();
        snprintf(shown, sizeof shown, "%s", line);
        cut(shown, ds_log_columns());
        fputs(shown, stderr);
    } else if (line[0] != '\0') {
        double now = ds_clock_s();
        if (now - last_plain >= 10.0) {
            last_plain = now;
            fprintf(stderr, "dshost: %s\n", line);
        }
    }
    fflush(stderr);
    pthread_mutex_unlock(&lock);
}
