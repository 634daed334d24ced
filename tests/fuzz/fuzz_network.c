/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_network.c - any bytes given to the reader of networks: networks whose numbers are all there and
 * finite, or one line. */
#include "config.h"

#include <diffsim/helper/network_file.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 3 };
    ds_network net[MOST];
    char why[DS_NETWORK_FILE_TEXT];
    uint32_t count = 77;
    double *w = ds_network_file_parse((const char *)data, size, MOST, net, &count, why);
    if (w == NULL) {
        FUZZ_REQUIRE(count == 0 && why[0] != '\0' && strchr(why, '\n') == NULL);
        return 0;
    }
    FUZZ_REQUIRE(count >= 1 && count <= MOST && why[0] == '\0');
    uint64_t at = 0;
    for (uint32_t k = 0; k < count; k++) {
        for (uint64_t i = 0; i < ds_network_count(&net[k]); i++) {
            FUZZ_REQUIRE(isfinite(w[at++]));
        }
    }
    free(w);
    return 0;
}
