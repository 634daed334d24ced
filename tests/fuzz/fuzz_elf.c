/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_elf.c - any bytes given to the reader of shared objects: names and flags, or one line that says why
 * not. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "plugin/elf_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_elf elf;
    ds_error e = {0};
    int status = ds_elf_parse(data, size, "input", &elf, 4, &e);
    if (status != 0) {
        FUZZ_REQUIRE(status == 4 && strncmp(e.text, "input: ", 7) == 0 &&
                     ds_text_is_line(e.text, strlen(e.text)));
        FUZZ_REQUIRE(elf.needed_count == 0 && elf.exported_count == 0);
        return 0;
    }
    FUZZ_REQUIRE(elf.needed_count <= DS_ELF_NAMES);
    for (size_t i = 0; i < elf.needed_count; i++) {
        FUZZ_REQUIRE(elf.needed[i] != NULL && strlen(elf.needed[i]) < size);
    }
    for (size_t i = 0; i < DS_ELF_NAMES; i++) {
        FUZZ_REQUIRE((elf.exported[i] != NULL) == (i < elf.exported_count));
    }
    ds_elf_clear(&elf);
    return 0;
}
