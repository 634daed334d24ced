/* SPDX-License-Identifier: Apache-2.0 */
/* test_film.c - pictures of an episode by either renderer: the derivatives of their loss against central
 * differences, their tangent against the adjoint, both sides of an open surface. */
#include "engines/film/film.h"
#include "tests/envs/engines/render/render_cases.h"

enum { CORNERS = 8, SIDES = 12, FRAMES = 2, SIZE = 32 };

static const uint32_t cube_face[3 * SIDES] = {0, 6, 4, 0, 2, 6, 0, 3, 2, 0, 1, 3, 2, 7, 6, 2, 3, 7,
                                              4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 1, 5, 7, 1, 7, 3};

typedef struct scene {
    film *film;
    double p[FRAMES][3 * CORNERS], bar[FRAMES][3 * CORNERS];
} scene;

static look look_of(look_renderer renderer, softras_mode mode, look_shading shading)
{
    return (look){
        .mode = mode,
        .renderer = renderer,
        .shading = shading,
        .size = SIZE,
        .sigma_scale = 1,
        .threads = 1,
        .cameras = 2,
        .camera = {camera_orbit(CAMERA_SOFTRAS, 4, 0.5, 0.3), camera_orbit(CAMERA_SOFTRAS, 5, -0.3, 2)}};
}

/* A cube with corners that are moved a little, or its first side alone; the target is another one. */
static void scene_open(scene *s, const look *l, uint32_t faces, uint64_t key)
{
    ds_random r = ds_random_open(key, "film", 0);
    double texture[3 * SIDES];
    fill(&r, texture, 3 * SIDES, 0.3, 0.9);
    const film_subject subject = {.mesh = {CORNERS, faces, cube_face}, .texture = texture};
    *s = (scene){.film = NULL};
    assert_int_equal(film_open(&s->film, l, &subject, FRAMES, NULL), DS_OK);
    for (uint64_t k = 0; k < 2 * FRAMES; k++) {
        double *p = s->p[k % FRAMES];
        for (uint32_t i = 0; i < 3 * CORNERS; i++) {
            p[i] = ((i / 3) >> (2 - i % 3) & 1 ? 0.577 : -0.577) + uniform(&r, -0.1, 0.1);
        }
        assert_int_equal(film_shoot(s->film, k % FRAMES, p), DS_OK);
        if (k < FRAMES) {
            film_target(s->film, k);
        }
    }
}

static double loss(void *context)
{
    scene *s = context;
    for (uint64_t k = 0; k < FRAMES; k++) {
        assert_int_equal(film_shoot(s->film, k, s->p[k]), DS_OK);
    }
    return film_loss(s->film);
}

static const struct {
    look_renderer renderer;
    softras_mode mode;
    look_shading shading;
} kind[] = {{LOOK_SOFTRAS, SOFTRAS_ALPHA, LOOK_LIGHT}, {LOOK_SOFTRAS, SOFTRAS_OVER, LOOK_LIGHT},
            {LOOK_SOFTRAS, SOFTRAS_OVER, LOOK_COLOR},  {LOOK_DIBR, SOFTRAS_ALPHA, LOOK_LIGHT},
            {LOOK_DIBR, SOFTRAS_OVER, LOOK_LIGHT},     {LOOK_DIBR, SOFTRAS_OVER, LOOK_COLOR}};
enum { KINDS = sizeof kind / sizeof *kind };

/* The adjoint of frame k is asked for when the places have gone on to the other one. */
static void losses_against_differences(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2 * KINDS; i++) {
        static scene s;
        const look l = look_of(kind[i % KINDS].renderer, kind[i % KINDS].mode, kind[i % KINDS].shading);
        scene_open(&s, &l, i < KINDS ? SIDES : 2, i);
        loss(&s);
        for (uint64_t k = FRAMES; k-- > 0;) {
            assert_int_equal(film_adjoint(s.film, k, s.p[k], NULL, s.bar[k]), DS_OK);
        }
        const size_t kinks =
            differences((size_t)FRAMES * 3 * CORNERS, s.p[0], s.bar[0], 1e-6, 1e-4, loss, &s);
        assert_true(kinks <= 6);
        film_close(s.film);
    }
}

static void tangents_are_adjoint(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2 * KINDS; i++) {
        static scene s;
        const look l = look_of(kind[i % KINDS].renderer, kind[i % KINDS].mode, kind[i % KINDS].shading);
        ds_random r = ds_random_open(i, "direction", 0);
        double v[3 * CORNERS];
        scene_open(&s, &l, i < KINDS ? SIDES : 2, i);
        const size_t n = film_frame_size(s.film);
        double *w = calloc(2 * n, sizeof *w), *jv = w + n;
        assert_non_null(w);
        fill(&r, v, 3 * CORNERS, -1, 1);
        fill(&r, w, n, -1, 1);
        assert_int_equal(film_adjoint(s.film, 0, s.p[0], w, s.bar[0]), DS_OK);
        assert_int_equal(film_tangent(s.film, 0, s.p[0], v, jv), DS_OK);
        const double size = norm(n, w) * norm(n, jv);
        assert_true(size > 0);
        check_near(dot(n, w, jv) / size, dot(3 * CORNERS, v, s.bar[0]) / size, 1e-12);
        free(w);
        film_close(s.film);
    }
}

/* A square is seen from the front and from behind; of a cube, which is closed, no side twice. */
static void open_surfaces_have_two_sides(void **state)
{
    (void)state;
    for (int behind = 0; behind < 2; behind++) {
        look l = look_of(LOOK_DIBR, SOFTRAS_OVER, LOOK_LIGHT);
        static const uint32_t square[6] = {0, 1, 2, 0, 2, 3};
        static const double p[12] = {-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0};
        film *f;
        l.cameras = 1;
        l.camera[0] = camera_orbit(CAMERA_SOFTRAS, 4, 0, behind ? 3.14159265358979 : 0);
        const film_subject subject = {.mesh = {4, 2, square}};
        assert_int_equal(film_open(&f, &l, &subject, 1, NULL), DS_OK);
        assert_int_equal(film_shoot(f, 0, p), DS_OK);
        const double *middle = film_picture(f, 0) + 4 * (SIZE / 2 * SIZE + SIZE / 2);
        check_near(middle[3], 1, 0);
        check_near(middle[0], 0.5, 1e-12); /* upright: light from everywhere alone */
        film_close(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_against_differences),
        cmocka_unit_test(tangents_are_adjoint),
        cmocka_unit_test(open_surfaces_have_two_sides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
