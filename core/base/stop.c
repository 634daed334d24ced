/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - the flag that ends what this process is doing. */
#include "config.h"

#include "base/stop.h"

atomic_int ds_stop_flag;

void ds_stop_raise_flag(atomic_int *flag, int why)
{
    int none = 0;
    atomic_compare_exchange_strong(flag, &none, why);
}

void ds_stop_raise(int why)
{
    ds_stop_raise_flag(&ds_stop_flag, why);
}

int ds_stop_status(int rc)
{
    int sig = atomic_load(&ds_stop_flag);
    return rc != 0 && sig > 0 ? 128 + sig : rc;
}
