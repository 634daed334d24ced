/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tetgen.c - any bytes given to the reader of TetGen: a .node file, a zero byte, its .ele file. */
#include "config.h"

#include "tests/fuzz/fuzz_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fem_mesh m;
    char error[FEM_READ_ERROR];
    const char *node = (const char *)data, *cut = size ? memchr(node, 0, size) : NULL;
    const size_t node_size = cut ? (size_t)(cut - node) : size, skip = node_size + (cut != NULL);
    int status = fem_parse_tetgen(&m, node, node_size, "a.node", node + skip, size - skip, "a.ele", error);
    fuzz_check_mesh(status, &m, error);
    return 0;
}
