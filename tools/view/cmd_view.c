/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_view.c - `dshost view`: writes episodes in the format of the file's ending; with --live a page that
 * follows a run. */
#include "config.h"

#include "base/file.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "results/point.h"
#include "run/run.h"
#include "run/session.h"
#include "render/render.h"
#include "view/live_server.h"
#include "view/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12 /* episodes side by side */ };

typedef struct request {
    ds_settings settings;
    const char *point[MOST]; /* of --x */
    size_t points;
    const char *out, *live;
    int port;
    const ds_view_format *format;
    ds_view_options options;
} request;

static const char usage[] =
    "usage: dshost view WHAT... -o FILE [OPTIONS]\n"
    "       dshost view --live DIR [--port N]\n"
    "\n"
    "Simulates episodes again and writes what they look like. WHAT is the folder of a run (its best "
    "evaluation) or\n"
    "DIR:ID (evaluation ID of it); with --env also points of an environment. Several episodes are shown side "
    "by side.\n"
    "\n"
    "  -o, --out FILE       the ending of its name selects the format, see below\n"
    "  --env E              an environment: id, file name on the plugin path, or path\n"
    "  --x SPEC             a point of it, as for `dshost eval` [start]; may be given several times\n"
    "  --set env.K=V        set a parameter of it; without --env, of the environments of the runs\n"
    "  --config F.ini       read settings from a file\n"
    "  --seed N             seed of the environment\n"
    "  --threads N          threads inside one episode\n"
    "  --trust-plugin P     run this plugin (file, folder or id) if a run names it and it is not on the "
    "plugin path\n"
    "  --isolation I        process (default) or none: simulate in a worker process or in this one\n"
    "  --portable           the same bits on every x86-64 processor\n"
    "  -h, --help           this text\n"
    "  --live DIR           follow the run in DIR in a page on this machine, whose address is printed, until "
    "Ctrl-C\n"
    "  --port N             of that page; 0 (default) chooses a free one\n"
    "\n"
    "Appearance, for formats that support it:\n"
    "  --every N            every N-th frame, and the last one\n"
    "  --camera AZ,EL[,Z]   azimuth and elevation of the camera in degrees; zoom (1 shows everything)\n"
    "  --orbit DEG          turn the camera by this angle from the first to the last frame\n"
    "  --size WxH           pixels\n"
    "  --fps N              frames per second of the film\n"
    "  --background COLOR   #rrggbb\n"
    "  --caption TEXT       replaces the default caption; \"\" = none\n"
    "\n"
    "Formats:\n";

/* ---- flags ---- */

static int take_setting(void *q, const char *name, const char *value, ds_error *e)
{
    return ds_run_flag_take(&((request *)q)->settings, name, value, e);
}

static int take_point(void *to, const char *name, const char *value, ds_error *e)
{
    request *q = to;
    (void)name;
    if (q->points == MOST) {
        return ds_fail(e, DS_EXIT_USAGE, "view: at most %d episodes can be shown side by side", MOST);
    }
    q->point[q->points++] = value;
    return 0;
}

static int wrong(const char *name, const char *value, const char *allowed, ds_error *e)
{
    return ds_fail(e, DS_EXIT_USAGE, "view: --%s %.100s: expected %s", name, value, allowed);
}

static int is_real(const char *text, double *out)
{
    char *end = NULL;
    *out = ds_strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

static int take_size(ds_view_options *o, const char *value)
{
    int used = 0;
    return sscanf(value, "%5dx%5d%n", &o->width, &o->height, &used) == 2 && value[used] == '\0' &&
           o->width >= 16 && o->height >= 16 && o->width <= 8192 && o->height <= 8192;
}

static int take_camera(ds_view_options *o, const char *value)
{
    ds_render_eye eye;
    if (!ds_render_eye_read(value, &eye)) {
        return 0;
    }
    o->camera_set = 1;
    o->azimuth = eye.azimuth;
    o->elevation = eye.elevation;
    o->zoom = eye.zoom;
    return 1;
}

static int take_shown(void *to, const char *name, const char *value, ds_error *e)
{
    ds_view_options *o = &((request *)to)->options;
    double v = 0;
    int64_t whole;
    if (strcmp(name, "size") == 0) {
        return take_size(o, value) ? 0 : wrong(name, value, "WIDTHxHEIGHT, 16 to 8192 pixels each", e);
    }
    if (strcmp(name, "camera") == 0) {
        return take_camera(o, value) ? 0 : wrong(name, value, DS_RENDER_EYE, e);
    }
    if (strcmp(name, "every") == 0) {
        int good = ds_parse_int(value, &whole) && whole > 0;
        o->every = good ? (uint64_t)whole : 0;
        return good ? 0 : wrong(name, value, "a whole number above 0", e);
    }
    if (strcmp(name, "background") == 0) {
        o->background = value;
        return value[0] == '#' && strlen(value) == 7 && strspn(value + 1, "0123456789abcdefABCDEF") == 6
                   ? 0
                   : wrong(name, value, "#rrggbb, hexadecimal", e);
    }
    int fps = strcmp(name, "fps") == 0, good = is_real(value, &v);
    if (fps) {
        o->fps = v;
        return good && v >= 0.1 && v <= 240 ? 0 : wrong(name, value, "frames per second, 0.1 to 240", e);
    }
    o->orbit = v;
    return good && fabs(v) <= 36000 ? 0 : wrong(name, value, "degrees, -36000 to 36000", e);
}

static int take_port(void *to, const char *name, const char *value, ds_error *e)
{
    int64_t port;
    if (!ds_parse_int(value, &port) || port < 0 || port > 65535) {
        return wrong(name, value, "a port, 0 to 65535; 0 is a free one", e);
    }
    ((request *)to)->port = (int)port;
    return 0;
}

static void print_usage(void)
{
    fputs(usage, stdout);
    for (const ds_view_format *f = ds_view_formats; f->write != NULL; f++) {
        printf("  .%-6s %s%s\n", f->ending, f->help, f->side_by_side ? "" : "; one episode");
    }
}

static int find_format(request *q, ds_error *e)
{
    char list[400] = "";
    size_t used = 0;
    if (q->out == NULL) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "view: name the file to write with -o FILE; `dshost view --help` lists the formats");
    }
    for (const ds_view_format *f = ds_view_formats; f->write != NULL; f++) {
        if (ds_text_ends_with(q->out, (const char *const[]){f->ending, NULL})) {
            q->format = f;
            return 0;
        }
        if (used < sizeof list) {
            used +=
                (size_t)snprintf(list + used, sizeof list - used, "%s.%s", used > 0 ? ", " : "", f->ending);
        }
    }
    return ds_fail(e, DS_EXIT_USAGE, "view: -o %.200s: unknown format: use a name that ends with one of %s",
                   q->out, list);
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    int help = 0;
    const ds_flag flags[] = {{"out", .text = &q->out, .letter = 'o'},
                             {"env", .take = take_setting},
                             {"x", .take = take_point},
                             {"set", .take = take_setting},
                             {"config", .take = take_setting},
                             {"seed", .take = take_setting},
                             {"threads", .take = take_setting},
                             {"isolation", .take = take_setting},
                             {"portable", .take = take_setting, .is_switch = 1},
                             {"every", .take = take_shown},
                             {"camera", .take = take_shown},
                             {"orbit", .take = take_shown},
                             {"size", .take = take_shown},
                             {"fps", .take = take_shown},
                             {"background", .take = take_shown},
                             {"caption", .text = &q->options.caption},
                             {"trust-plugin", .take = ds_trust_flag_take},
                             {"live", .text = &q->live},
                             {"port", .take = take_port},
                             {"help", .set = &help},
                             {0}};
    int rc = ds_arguments_read(argc, argv, "view", flags, MOST, q, e);
    if (rc == 0 && help) {
        print_usage();
        return -1;
    }
    rc = rc != 0 ? rc
                 : ds_run_sets_check(&q->settings, "view", 1u << DS_SECTION_RUN | 1u << DS_SECTION_ENV, e);
    if (rc == 0 && q->live != NULL && (q->out != NULL || q->points > 0 || optind < argc)) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "view: --live follows one run and writes no file: leave out the other arguments");
    }
    ds_file_named(q->out);
    return rc != 0 || q->live != NULL ? rc : find_format(q, e);
}

/* ---- episodes ---- */

/* Opens a run, or a point of the environment that the settings name, or else of the run's environment. */
static int open_one(const request *q, const char *what, int of_env, ds_view_episode *out, ds_error *e)
{
    /* Settings given with an environment belong to it, not to the run. */
    const ds_settings *over =
        ds_settings_find(&q->settings, DS_SECTION_RUN, "env") == NULL ? &q->settings : NULL;
    char *folder = NULL;
    uint64_t id = 0;
    int rc;
    if (!of_env && ds_point_names_run(what, &folder, &id)) {
        rc = ds_view_episode_of_run(folder, id, over, DS_KEEP_ALL, out, e);
    } else if (of_env) {
        rc = ds_view_episode_of_point(&q->settings, what, DS_KEEP_ALL, out, e);
    } else {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "view: %.200s holds no run: name the folder of a run, DIR:ID, or an environment with "
                     "--env and --x",
                     what);
    }
    free(folder);
    return rc;
}

static int open_all(const request *q, int argc, char *const *argv, ds_view_episodes *all, ds_error *e)
{
    const int of_env = ds_settings_find(&q->settings, DS_SECTION_RUN, "env") != NULL;
    const size_t runs = (size_t)argc, points = q->points > 0 || !of_env ? q->points : runs == 0;
    if (runs + points == 0 || runs + points > MOST) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "view: %zu episodes: name 1 to %d: folders of runs, DIR:ID, or --env with --x",
                       runs + points, MOST);
    }
    if (runs + points > 1 && !q->format->side_by_side) {
        return ds_fail(e, DS_EXIT_USAGE, "view: -o %.200s: a .%s file holds one episode, but %zu were named",
                       q->out, q->format->ending, runs + points);
    }
    all->item = calloc(runs + points, sizeof *all->item);
    int rc = all->item == NULL ? ds_no_memory(e) : 0;
    for (size_t i = 0; i < runs + points && rc == 0; i++) {
        const char *what = i < runs ? argv[i] : q->points > 0 ? q->point[i - runs] : "start";
        all->count = i + 1;
        rc = open_one(q, what, i >= runs && of_env, &all->item[i], e);
        rc = rc != 0 ? rc : ds_view_episode_seen(&all->item[i], e);
    }
    return rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {0};
    ds_view_episodes all = {0};
    int rc = parse(argc, argv, &q, e);
    if (rc == 0 && q.live != NULL) {
        ds_settings_clear(&q.settings);
        return ds_stop_status(ds_live_serve(q.live, q.port, e));
    }
    rc = rc != 0 ? rc : ds_portable_settle(&q.settings, e);
    rc = rc != 0 ? rc : open_all(&q, argc - optind, argv + optind, &all, e);
    if (rc == 0) {
        all.options = q.options;
        rc = q.format->write(q.out, &all, e);
    }
    if (rc == 0) {
        printf("%s\n", q.out);
    }
    ds_view_episodes_clear(&all);
    ds_settings_clear(&q.settings);
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
