/* SPDX-License-Identifier: Apache-2.0 */
/* report_episodes.h - what best episodes show: the picture of each environment's, drawn by its run or for the
 * report; pages that play those of all optimizers; the metrics of each run's. */
#ifndef DS_REPORT_REPORT_EPISODES_H
#define DS_REPORT_REPORT_EPISODES_H

#include "report/report.h"

/* Where the picture for environment `env` is made for a report in `folder`; to be freed, or NULL. */
char *ds_report_picture_path(const ds_report *r, size_t env, const char *folder);

/* Removes the pictures of an earlier report in the folder, which may be those of other runs. Then, where
 * `draw`, simulates the best episode of each environment whose best run has no best.png, and draws it there.
 * What cannot be drawn (a plugin is missing) costs a warning. DS_EXIT_IO or DS_EXIT_MEMORY where the folder
 * cannot be made. */
int ds_report_pictures(const ds_report *r, const char *folder, int draw, ds_error *e);

/* Where the page that plays the best episodes of environment `env` is; to be freed, or NULL. */
char *ds_report_episodes_path(const ds_report *r, size_t env, const char *folder);

/* Writes that page for each environment: the best episode of each optimizer, those with the lowest mean
 * first, side by side; at most DS_REPORT_EPISODES. Removes that of an earlier report where there is no scene,
 * nothing could be simulated (a warning tells why), or not `wanted`. DS_EXIT_IO or DS_EXIT_MEMORY
 * on failure. */
enum { DS_REPORT_EPISODES = 12 };
int ds_report_episodes(const ds_report *r, const char *folder, int wanted, ds_error *e);

/* Simulates the best episode of every run that counts, for the metrics that no optimizer sees (errors of what
 * is identified, distances to a target): fills metrics and metric of the report. What cannot be simulated
 * costs a warning. DS_EXIT_MEMORY on failure. */
int ds_report_metrics(ds_report *r, ds_error *e);

/* "kind-NAME" as the name of a file: letters that such names do not have become '_'. */
void ds_report_file_name(char *out, size_t room, const char *kind, const char *name);

#endif
