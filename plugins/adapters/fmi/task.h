/* SPDX-License-Identifier: Apache-2.0 */
/* task.h - the parameters of an FMU environment: what is varied, and what its loss is. */
#ifndef DS_ADAPTERS_FMI_TASK_H
#define DS_ADAPTERS_FMI_TASK_H

#include "adapters/fmi/model.h"

extern const ds_param *const fmu_params[];

/* Reads them into e, whose description is there: decisions, outputs, times, fits. All memory is of
 * e->kit.memory. */
void fmu_task_read(fmu *e, ds_param_reader *in);

#endif
