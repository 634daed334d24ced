/* SPDX-License-Identifier: Apache-2.0 */
/* run_recheck.h - is the environment still the one of the record? */
#ifndef DS_RUN_RUN_RECHECK_H
#define DS_RUN_RUN_RECHECK_H

#include "run/session.h"

/* Repeats one recorded evaluation. DS_EXIT_PLUGIN where it comes out differently: the environment is another one. */
int ds_run_recheck(const ds_session *session, ds_error *e);

#endif
