/* SPDX-License-Identifier: Apache-2.0 */
/* test_frames.c - pictures of an episode by either renderer: the derivatives of their loss against central
 * differences, their tangent against the adjoint, both sides of an open surface, a picture that lies
 * on it. */
#include "engines/rendering/observation/frames.h"
#include "engines/rendering/render/read_png.h"
#include "test.h"
#include "tests/envs/engines/rendering/render/render_cases.h"

enum { CORNERS = 8, SIDES = 12, FRAMES = 2, SIZE = 32 };

static const uint32_t cube_face[3 * SIDES] = {0, 6, 4, 0, 2, 6, 0, 3, 2, 0, 1, 3, 2, 7, 6, 2, 3, 7,
                                              4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 1, 5, 7, 1, 7, 3};

typedef struct scene {
    camera_frames *images;
    double p[FRAMES][3 * CORNERS], bar[FRAMES][3 * CORNERS];
} scene;

/* The picture on the surface, or NULL where this build cannot read PNG files. */
static const char *picture(void)
{
    static char path[1024];
    char text[READ_PNG_TEXT];
    png_picture p;
    const char *top = getenv("DS_TOP_SRC");
    snprintf(path, sizeof path, "%s/examples/paper/gradsim/squares.png", top != NULL ? top : ".");
    const int read = png_picture_read(&p, path, text);
    assert_true(read == READ_PNG_OK || read == READ_PNG_MISSING);
    png_picture_free(&p);
    return read == READ_PNG_OK ? path : NULL;
}

static cameras cameras_of(cameras_renderer renderer, softras_mode mode, cameras_shading shading, int skin)
{
    return (cameras){
        .texture = skin ? picture() : NULL,
        .mode = mode,
        .renderer = renderer,
        .lighting = {.light = {0, 1, 0}, .ambient = 0.5, .diffuse = 0.5, .shine = 20},
        .shading = shading,
        .size = SIZE,
        .sigma_scale = 1,
        .threads = 1,
        .count = 2,
        .camera = {camera_orbit(CAMERA_SOFTRAS, 4, 0.5, 0.3), camera_orbit(CAMERA_SOFTRAS, 5, -0.3, 2)}};
}

/* A cube with corners that are moved a little, or its first side alone; the target is another one. */
static void scene_open(scene *s, const cameras *l, uint32_t faces, uint64_t key)
{
    ds_random r = ds_random_open(key, "film", 0);
    double color[3 * SIDES];
    fill(&r, color, 3 * SIDES, 0.3, 0.9);
    double rest[3 * CORNERS];
    for (uint32_t i = 0; i < 3 * CORNERS; i++) {
        rest[i] = (i / 3) >> (2 - i % 3) & 1 ? 0.577 : -0.577;
    }
    const frames_subject subject = {.mesh = {CORNERS, faces, cube_face}, .color = color, .rest = rest};
    *s = (scene){.images = NULL};
    assert_int_equal(frames_open(&s->images, l, &subject, FRAMES, NULL), DS_OK);
    for (uint64_t k = 0; k < 2 * FRAMES; k++) {
        double *p = s->p[k % FRAMES];
        for (uint32_t i = 0; i < 3 * CORNERS; i++) {
            p[i] = rest[i] + uniform(&r, -0.1, 0.1);
        }
        assert_int_equal(frames_draw(s->images, k % FRAMES, p), DS_OK);
        if (k < FRAMES) {
            frames_target(s->images, k);
        }
    }
}

static double loss(void *context)
{
    scene *s = context;
    for (uint64_t k = 0; k < FRAMES; k++) {
        assert_int_equal(frames_draw(s->images, k, s->p[k]), DS_OK);
    }
    return frames_loss(s->images);
}

static const struct {
    cameras_renderer renderer;
    softras_mode mode;
    cameras_shading shading;
    int skin;
} kind[] = {
    {CAMERAS_SOFTRAS, SOFTRAS_ALPHA, CAMERAS_LIGHT, 0}, {CAMERAS_SOFTRAS, SOFTRAS_OVER, CAMERAS_LIGHT, 0},
    {CAMERAS_SOFTRAS, SOFTRAS_OVER, CAMERAS_COLOR, 0},  {CAMERAS_DIBR, SOFTRAS_ALPHA, CAMERAS_LIGHT, 0},
    {CAMERAS_DIBR, SOFTRAS_OVER, CAMERAS_LIGHT, 0},     {CAMERAS_DIBR, SOFTRAS_OVER, CAMERAS_COLOR, 0},
    {CAMERAS_DIBR, SOFTRAS_OVER, CAMERAS_LIGHT, 1},     {CAMERAS_DIBR, SOFTRAS_OVER, CAMERAS_COLOR, 1}};
enum { KINDS = sizeof kind / sizeof *kind };

static cameras cameras_of_kind(uint64_t i)
{
    return cameras_of(kind[i].renderer, kind[i].mode, kind[i].shading, kind[i].skin);
}

/* The adjoint of frame k is computed after the positions of the next frame were set. */
static void losses_against_differences(void **state)
{
    for (uint64_t i = 0; i < 2 * KINDS; i++) {
        static scene s;
        const cameras l = cameras_of_kind(i % KINDS);
        scene_open(&s, &l, i < KINDS ? SIDES : 2, i);
        loss(&s);
        for (uint64_t k = FRAMES; k-- > 0;) {
            assert_int_equal(frames_adjoint(s.images, k, s.p[k], NULL, s.bar[k]), DS_OK);
        }
        const size_t kinks =
            differences((size_t)FRAMES * 3 * CORNERS, s.p[0], s.bar[0], 1e-6, 1e-4, loss, &s);
        assert_true(kinks <= 6);
        frames_close(s.images);
    }
}

static void tangents_are_adjoint(void **state)
{
    for (uint64_t i = 0; i < 2 * KINDS; i++) {
        static scene s;
        const cameras l = cameras_of_kind(i % KINDS);
        ds_random r = ds_random_open(i, "direction", 0);
        double v[3 * CORNERS];
        scene_open(&s, &l, i < KINDS ? SIDES : 2, i);
        const size_t n = frames_frame_size(s.images);
        double *w = calloc(2 * n, sizeof *w), *jv = w + n;
        assert_non_null(w);
        fill(&r, v, 3 * CORNERS, -1, 1);
        fill(&r, w, n, -1, 1);
        assert_int_equal(frames_adjoint(s.images, 0, s.p[0], w, s.bar[0]), DS_OK);
        assert_int_equal(frames_tangent(s.images, 0, s.p[0], v, jv), DS_OK);
        const double size = norm(n, w) * norm(n, jv);
        assert_true(size > 0);
        assert_near(dot(n, w, jv) / size, dot(3 * CORNERS, v, s.bar[0]) / size, 1e-12);
        free(w);
        frames_close(s.images);
    }
}

/* A square is visible from the front and from behind; a cube is closed, so none of its sides is drawn twice.
 */
static void open_surfaces_have_two_sides(void **state)
{
    for (int behind = 0; behind < 2; behind++) {
        cameras l = cameras_of(CAMERAS_DIBR, SOFTRAS_OVER, CAMERAS_LIGHT, 0);
        static const uint32_t square[6] = {0, 1, 2, 0, 2, 3};
        static const double p[12] = {-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0};
        camera_frames *f;
        l.count = 1;
        l.camera[0] = camera_orbit(CAMERA_SOFTRAS, 4, 0, behind ? 3.14159265358979 : 0);
        const frames_subject subject = {.mesh = {4, 2, square}};
        assert_int_equal(frames_open(&f, &l, &subject, 1, NULL), DS_OK);
        assert_int_equal(frames_draw(f, 0, p), DS_OK);
        const double *middle = frames_image(f, 0) + 4 * (SIZE / 2 * SIZE + SIZE / 2);
        assert_near(middle[3], 1, 0);
        assert_near(middle[0], 0.5, 1e-12); /* upright: light from everywhere alone */
        frames_close(f);
    }
}

/* Bilinear between texels, with u v from the lower left corner. */
static double texel(const png_picture *png, double u, double v, size_t channel)
{
    const double x = fmin(fmax(u * png->width - 0.5, 0), png->width - 1.0);
    const double y = fmin(fmax((1 - v) * png->height - 0.5, 0), png->height - 1.0);
    double sum = 0;
    for (size_t k = 0; k < 4; k++) {
        const size_t c = (size_t)fmin(floor(x) + (double)(k % 2), png->width - 1.0);
        const size_t r = (size_t)fmin(floor(y) + (double)(k / 2), png->height - 1.0);
        const double along = x - floor(x), down = y - floor(y);
        sum += (k % 2 ? along : 1 - along) * (k / 2 ? down : 1 - down) *
               png->pixel[(r * png->width + c) * png->channels + channel];
    }
    return sum;
}

/* A square that stands, lies or is seen from behind shows the picture of the file, upright from the front.
 * The camera is 4 away; half of its image is 4 tan 30 degrees. */
static void pictures_lie_on_surfaces(void **state)
{
    static const uint32_t face[6] = {0, 1, 2, 0, 2, 3};
    static const double corner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    char text[READ_PNG_TEXT];
    png_picture png;
    if (picture() == NULL) {
        skip();
    }
    assert_int_equal(png_picture_read(&png, picture(), text), READ_PNG_OK);
    for (size_t way = 0; way < 3; way++) { /* from the front, from behind, and lying, seen from above */
        const size_t up = way == 2 ? 2 : 1;
        cameras l = cameras_of(CAMERAS_DIBR, SOFTRAS_OVER, CAMERAS_COLOR, 1);
        double p[12] = {0};
        camera_frames *f;
        for (size_t i = 0; i < 4; i++) {
            p[3 * i] = corner[i][0];
            p[3 * i + up] = corner[i][1];
        }
        l.count = 1;
        l.camera[0] = camera_orbit(CAMERA_SOFTRAS, 4, way == 2 ? 1.5 : 0, way == 1 ? 3.14159265358979 : 0);
        const frames_subject subject = {.mesh = {4, 2, face}, .rest = p};
        assert_int_equal(frames_open(&f, &l, &subject, 1, NULL), DS_OK);
        assert_int_equal(frames_draw(f, 0, p), DS_OK);
        size_t seen = 0;
        for (size_t i = 0; i < SIZE * SIZE; i++) {
            const double *rgba = frames_image(f, 0) + 4 * i;
            const double half = way == 2 ? 0 : 4 * 0.57735026918962576;
            const double x = half * ((double)(2 * (i % SIZE) + 1) / SIZE - 1);
            const double y = half * (1 - (double)(2 * (i / SIZE) + 1) / SIZE);
            seen += rgba[3] >= 1;
            for (size_t c = 0; way < 2 && rgba[3] >= 1 && c < 3; c++) {
                assert_near(rgba[c], texel(&png, ((way == 1 ? -x : x) + 1) / 2, (y + 1) / 2, c), 1e-9);
            }
        }
        assert_true(seen > 150);
        const double *low = frames_image(f, 0) + 4 * ((SIZE / 2 + 5) * SIZE + SIZE / 2 - 5);
        assert_near(low[2] > low[0], way != 1, 0); /* a blue square is lower left in front of it */
        frames_close(f);
    }
    png_picture_free(&png);
}

static char line[512];

static void take_line(const ds_host *host, ds_status status, const char *text)
{
    snprintf(line, sizeof line, "%s", text);
}

static void pictures_need_something_to_lie_on(void **state)
{
    static const ds_host host = {.error = take_line};
    static const uint32_t face[3] = {0, 1, 2};
    cameras l = cameras_of(CAMERAS_DIBR, SOFTRAS_OVER, CAMERAS_COLOR, 1);
    const double flat[9] = {0};
    camera_frames *f;
    if (l.texture == NULL) {
        skip();
    }
    frames_subject subject = {.mesh = {3, 1, face}};
    assert_int_equal(frames_open(&f, &l, &subject, 1, &host), DS_E_PARAM);
    assert_non_null(strstr(line, "parameter texture: "));
    frames_close(f);
    subject.rest = flat; /* a box of no size */
    assert_int_equal(frames_open(&f, &l, &subject, 1, NULL), DS_OK);
    assert_int_equal(frames_draw(f, 0, flat), DS_OK);
    frames_close(f);
    l.texture = "none.png";
    assert_int_equal(frames_open(&f, &l, &subject, 1, &host), DS_E_IO);
    assert_non_null(strstr(line, "parameter texture: none.png: "));
    frames_close(f);
}

RUN_TESTS(losses_against_differences, tangents_are_adjoint, open_surfaces_have_two_sides,
          pictures_lie_on_surfaces, pictures_need_something_to_lie_on)
