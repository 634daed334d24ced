/* SPDX-License-Identifier: Apache-2.0 */
/* odd_want - refuses wishes that it does not know. */
#define BAD_ID "odd_want"
#define BAD_EVALUATE                                                                                         \
    if ((io->want & ~(uint32_t)(DS_WANT_GRAD | DS_WANT_SCENE)) != 0) {                                       \
        b->host->error(b->host, DS_E_ARG, "an unknown wish");                                                \
        return DS_E_ARG;                                                                                     \
    }
#include "env_base.h"
