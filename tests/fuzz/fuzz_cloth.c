/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cloth.c - scene files of the spring model of cloth, from the text to the environment: each is refused
 * with one line, or gives an environment whose variables start between their bounds. */
#include "engines/physics/cloth/env/springs_scene.h"
#include "tests/fuzz/listener.h"

#include <diffsim/helper/env_kit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ds_status DS_CALL get_path(const ds_host *host, const char *name, const char **out)
{
    FUZZ_REQUIRE(strcmp(name, "scene") == 0);
    *out = ((const listener *)host)->path;
    return DS_OK;
}

static void check_variables(const ds_env_table *table, ds_env_kit *kit)
{
    FUZZ_REQUIRE(kit->n > 0 && kit->steps > 0 && kit->cost >= kit->steps && kit->dt > 0);
    for (uint64_t i = 0; table->range != NULL && i < kit->n; i++) {
        double lower, upper, start;
        table->range(kit, i, &lower, &upper, &start);
        FUZZ_REQUIRE(isfinite(lower) && isfinite(upper) && lower <= upper && start >= lower - 1e-9 &&
                     start <= upper + 1e-9);
    }
}

/* Reads it with the table of its sections. */
static void read_scene(listener *l)
{
    ds_param_reader in = {&l->host, DS_OK};
    scene_file *f = cloth_scene_open(&in);
    FUZZ_REQUIRE(f != NULL);
    const ds_env_table *table = springs_scene_table(f);
    scene_file_free(f);
    ds_env_kit *kit = calloc(1, (size_t)table->size);
    FUZZ_REQUIRE(kit != NULL);
    kit->env = table;
    kit->host = &l->host;
    table->read(kit, &in);
    FUZZ_REQUIRE((in.status == DS_OK) == (l->lines == 0));
    if (in.status == DS_OK) {
        check_variables(table, kit);
    }
    table->release(kit);
    ds_memory_free(&kit->memory);
    free(kit);
}

int fuzz_cloth(const uint8_t *data, size_t size)
{
    listener l = listener_open();
    l.host.get_text = get_path;
    strcpy(l.path, "/tmp/diffsim-fuzz-XXXXXX");
    const int fd = mkstemp(l.path);
    FUZZ_REQUIRE(fd >= 0);
    FUZZ_REQUIRE(write(fd, data, size) == (ssize_t)size);
    close(fd);
    read_scene(&l);
    unlink(l.path);
    return 0;
}
