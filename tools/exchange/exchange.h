/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h - an episode as files of other programs: VTK's (ParaView), USD (Blender, usdview, Omniverse),
 * Wavefront OBJ and PLY.
 *
 * All of them: metres, seconds, y up, right-handed, as in a scene. Frames are all kept ones, or each N-th one
 * and the last (ds_view_options.every). Elements that are nowhere in the first frame (not finite) are left
 * out, and a frame in which another one is nowhere ends the episode, each with one warning; DS_EXIT_PLUGIN
 * where nothing is left. A sequence has a file for each frame, NAME-0012.ply with the number of the frame, or
 * FILE itself where there is one frame. docs/trajectory.md lists what is in them. Each function is a
 * ds_view_write of view/view.h, of one episode; memory does not depend on the number of frames. */
#ifndef DS_EXCHANGE_EXCHANGE_H
#define DS_EXCHANGE_EXCHANGE_H

#include "episode/episode.h"

/* FILE.pvd with the times of FILE-0000.vtu, ...: VTK XML of an unstructured grid, appended raw data, zlib. */
int ds_exchange_pvd(const char *path, const ds_view_episodes *episodes, ds_error *e);
/* The .vtu files alone. */
int ds_exchange_vtu(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* One text file with time samples. Of episodes with more than two million positions it takes each
 * N-th frame. */
int ds_exchange_usda(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* Binary PLY, little-endian. */
int ds_exchange_ply(const char *path, const ds_view_episodes *episodes, ds_error *e);

/* Text, with its colours in FILE.mtl. */
int ds_exchange_obj(const char *path, const ds_view_episodes *episodes, ds_error *e);

#endif
