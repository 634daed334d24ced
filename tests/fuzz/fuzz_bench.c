/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_bench.c - any bytes given to the reader of experiment files: parts with names that can be folders,
 * each name once, or one line that says why not. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "bench/bench_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_settings none = {0};
    ds_bench_file f;
    ds_error e = {0};
    int status = ds_bench_file_parse((const char *)data, size, "input", "/base", &none, &none, &f, &e);
    if (status != 0) {
        FUZZ_REQUIRE((status == DS_EXIT_CONFIG || status == DS_EXIT_MEMORY) && e.status == status);
        FUZZ_REQUIRE(ds_text_is_line(e.text, strlen(e.text)));
    }
    for (int which = 0; which < 2 && status == 0; which++) {
        const ds_bench_parts *list = &f.part[which];
        FUZZ_REQUIRE(list->count > 0);
        for (size_t i = 0; i < list->count; i++) {
            const char *name = list->item[i].name;
            FUZZ_REQUIRE(name[0] != '\0' && name[0] != '.' && strlen(name) <= DS_BENCH_NAME);
            FUZZ_REQUIRE(strpbrk(name, "/ ,;[]") == NULL && list->item[i].plugin[0] != '\0');
            for (size_t k = 0; k < i && k < 50; k++) {
                FUZZ_REQUIRE(strcmp(list->item[k].name, name) != 0);
            }
        }
    }
    ds_bench_file_clear(&f);
    return 0;
}
