/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_summary.c - any bytes as the summary.json of a run: names that can be parts of paths come out of it.
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "results/results.h"
#include "tests/fuzz/fuzz.h"

static char folder[64], path[96];

static void forget(void)
{
    unlink(path);
    rmdir(folder);
}

static void write_input(const uint8_t *data, size_t size)
{
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "%s/fuzz_summary-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        FUZZ_REQUIRE(mkdtemp(folder) != NULL);
        snprintf(path, sizeof path, "%s/summary.json", folder);
        atexit(forget);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void require_name(const char *name)
{
    FUZZ_REQUIRE(name != NULL && strchr(name, '/') == NULL && name[0] != '.' && name[0] != '-');
    FUZZ_REQUIRE(ds_text_is_line(name, strlen(name)) && strlen(name) <= 120);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_result r;
    ds_error e = {0, ""};
    write_input(data, size);
    int has = ds_result_read(folder, &r, &e);
    FUZZ_REQUIRE(has >= 0 && has == (r.ended != NULL));
    require_name(r.env);
    require_name(r.opt);
    ds_result_clear(&r);
    return 0;
}
