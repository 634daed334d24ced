/* SPDX-License-Identifier: Apache-2.0 */
/* two_symbols - exports more than ds_plugin_query. */
#define BAD_ID "two_symbols"
__attribute__((visibility("default"))) int helper(int v);
int helper(int v)
{
    return v + 1;
}
#include "env_base.h"
