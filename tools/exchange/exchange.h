/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - an episode as files for other programs: VTK's (ParaView), USD (Blender, usdview, Omniverse),
 * Wavefront OBJ and PLY.
 *
 * Common to all: metres, seconds, y up, right-handed, as in a scene. All kept frames, or every N-th and the
 * last one (ds_view_options.every). Elements whose position in the first frame is not finite are left out; a
 * later position that is not finite ends the episode before that frame. Both cost one warning; DS_EXIT_PLUGIN
 * if nothing is left. A sequence has one file per frame, NAME-0012.ply with the number of the frame, or FILE
 * itself for a single frame. docs/trajectory.md lists the contents. Each function is a ds_view_write
 * (view/view.h) for one episode; memory does not depend on the number of frames. */
#ifndef DS_EXCHANGE_EXCHANGE_H
#define DS_EXCHANGE_EXCHANGE_H

#include "episode/episode.h"

/* FILE.pvd with the times of FILE-0000.vtu, ...: VTK XML of an unstructured grid, appended raw data, zlib. */
int ds_exchange_pvd(const char *path, const ds_view_episodes *episodes, ds_error *e);
/* The .vtu files alone. */
int ds_exchange_vtu(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* One text file with time samples. Episodes with more than two million positions are written with every N-th
 * frame. */
int ds_exchange_usda(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* Binary PLY, little-endian. */
int ds_exchange_ply(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* Text, with the colours in FILE.mtl. */
int ds_exchange_obj(const char *path, const ds_view_episodes *episodes, ds_error *e);

#endif
