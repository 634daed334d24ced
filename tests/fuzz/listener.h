/* SPDX-License-Identifier: Apache-2.0 */
/* listener.h - the host of fuzz targets that read scene files: it counts failures, each one line. */
#ifndef DS_TESTS_FUZZ_LISTENER_H
#define DS_TESTS_FUZZ_LISTENER_H

#include "tests/fuzz/fuzz.h"

#include <diffsim/host.h>
#include <string.h>

typedef struct listener {
    ds_host host; /* first */
    int lines;
    char path[64]; /* of parameter `scene`, if the target has one */
} listener;

static inline void DS_CALL listener_error(const ds_host *host, ds_status status, const char *line)
{
    listener *l = (listener *)(uintptr_t)host;
    FUZZ_REQUIRE(status != DS_OK && line[0] != '\0' && strchr(line, '\n') == NULL);
    l->lines++;
}

static inline void DS_CALL listener_log(const ds_host *host, uint32_t level, const char *line)
{
    (void)host, (void)level;
    FUZZ_REQUIRE(line[0] != '\0' && strchr(line, '\n') == NULL);
}

static inline ds_status DS_CALL listener_no_resource(const ds_host *host, const char *name, char *out,
                                                     uint64_t room, uint64_t *length)
{
    (void)host, (void)name, (void)out, (void)room, (void)length;
    return DS_E_IO;
}

static inline listener listener_open(void)
{
    return (listener){.host = {.struct_size = sizeof(ds_host),
                               .error = listener_error,
                               .log = listener_log,
                               .resource = listener_no_resource}};
}

#endif
