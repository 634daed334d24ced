/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_obj.c - any bytes given to the reader of Wavefront OBJ. */
#include "config.h"

#include "tests/fuzz/fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fem_mesh m;
    char error[FEM_READ_ERROR];
    fuzz_check_mesh(fem_parse_obj(&m, (const char *)data, size, "input", error), &m, error);
    return 0;
}
