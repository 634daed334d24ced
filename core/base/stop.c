/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - the flag that ends what this process is doing. */
#include "config.h"

#include "base/stop.h"

atomic_int ds_stop_flag;

void ds_stop_raise(int why)
{
    int none = 0;
    atomic_compare_exchange_strong(&ds_stop_flag, &none, why);
}

int ds_stop_status(int rc)
{
    int sig = atomic_load(&ds_stop_flag);
    return rc != 0 && sig > 0 ? 128 + sig : rc;
}
