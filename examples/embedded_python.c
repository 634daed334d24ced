/* SPDX-License-Identifier: Apache-2.0 */
/* embedded_python - an environment whose simulation is a Python program with its own thread: the ball of
 * hill.c.
 *
 *     cc -O2 -fPIC -shared -fvisibility=hidden $(pkg-config --cflags --libs diffsim python3-embed) \
 *         -o embedded_python.so embedded_python.c
 *
 * A process has one interpreter, which cannot be shut down safely, and its threads wait there between the
 * calls. Hence DS_ENV_OWN_PROCESS: the host gives every instance its own process. The plugin still keeps
 * these rules: no signal handler, locale or output of Python (the isolated configuration); the thread of an
 * instance ends with it and computes only during a call; an exception becomes a status.
 *
 * For your own simulation replace the program. Extend sys.path for your modules and for the site-packages of
 * a virtual environment, which the isolated configuration leaves out. JAX computes in single precision unless
 * jax.config.update("jax_enable_x64", True), and compiles for more than a second at the first gradient: call
 * the function once in create(). With several threads or on a graphics card sums may differ in their last
 * digits: set DS_ENV_INEXACT and `tolerance` of info(). */
#define _GNU_SOURCE /* dladdr() */
#include <Python.h>
#include <diffsim/diffsim.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/params.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The simulation. A thread of Python computes the requests of ask(). */
static const char program[] =
    "import math, os, threading, time\n"
    "class Ball(threading.Thread):\n"
    "    def __init__(self, friction, target):\n"
    "        super().__init__(daemon=True)\n"
    "        self.friction, self.target, self.x, self.answer = friction, target, None, None\n"
    "        self.asked, self.answered = threading.Semaphore(0), threading.Semaphore(0)\n"
    "        self.start()\n"
    "    def simulate(self, q, v):\n"
    "        dq, dv, dt = [1.0, 0.0], [0.0, 1.0], 0.01\n"
    "        for _ in range(200):\n"
    "            slope, curvature = -3 * math.sin(3 * q), -9 * math.cos(3 * q)\n"
    "            for i in 0, 1:\n"
    "                dv[i] += dt * (-9.81 * curvature * dq[i] - self.friction * dv[i])\n"
    "                dq[i] += dt * dv[i]\n"
    "            v += dt * (-9.81 * slope - self.friction * v)\n"
    "            q += dt * v\n"
    "        miss = q - self.target\n"
    "        return miss * miss, 2 * miss * dq[0], 2 * miss * dq[1]\n"
    "    def run(self):\n"
    "        while self.asked.acquire() and self.x is not None:\n"
    "            try:\n"
    "                self.answer = self.simulate(*self.x)\n"
    "            except Exception as e:\n"
    "                self.answer = e\n"
    "            self.answered.release()\n"
    "    def ask(self, q, v):\n"
    "        self.x = q, v\n"
    "        self.asked.release()\n"
    "        self.answered.acquire()\n"
    "        if isinstance(self.answer, Exception):\n"
    "            raise self.answer\n"
    "        return self.answer\n"
    "    def end(self):\n"
    "        self.x = None\n"
    "        self.asked.release()\n"
    "        self.join()\n"
    "        while os.path.exists('/proc/self/task/%d' % self.native_id):\n"
    "            time.sleep(0.0001)\n"; /* join() is back a moment before the thread has ended */

static const ds_param *const params[] = {DS_REAL("friction", "0.5", 0, 10, "1/s", "Damping of the velocity."),
                                         DS_REAL("target", "1", -5, 5, "m", "Where the ball should end."),
                                         NULL};

typedef struct ball {
    const ds_host *host;
    PyObject *object;
} ball;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Modules in C, such as NumPy and JAX, take the interpreter's symbols from the process, but the symbols of a
 * plugin's libraries are local. */
static void show_symbols(void)
{
    Dl_info of;
    int (*known)(void) = Py_IsInitialized;
    void *address;
    memcpy(&address, &known, sizeof address);
    if (dladdr(address, &of) != 0) {
        dlopen(of.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD); /* for as long as the process lives */
    }
}

static void start_python(void)
{
    PyConfig config;
    show_symbols();
    PyConfig_InitIsolatedConfig(&config);
    const PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (!PyStatus_Exception(status)) {
        PyEval_SaveThread(); /* every call takes the interpreter's lock for itself */
    }
}

/* Reports the current exception. */
static ds_status fail(const ds_host *host)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value != NULL ? PyObject_Str(value) : NULL;
    const char *words = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    const ds_status status = ds_host_fail(host, DS_E_GENERIC, "Python: %s: %s",
                                          type != NULL ? ((PyTypeObject *)type)->tp_name : "no exception",
                                          words != NULL ? words : "");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Clear();
    return status;
}

static ds_status make_ball(const ds_host *host, double friction, double target, PyObject **out)
{
    PyObject *names = PyDict_New();
    PyObject *ran = names != NULL && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0
                        ? PyRun_String(program, Py_file_input, names, names)
                        : NULL;
    PyObject *class = ran != NULL ? PyDict_GetItemString(names, "Ball") : NULL;
    *out = class != NULL ? PyObject_CallFunction(class, "dd", friction, target) : NULL;
    const ds_status status = *out != NULL ? DS_OK : fail(host);
    Py_XDECREF(ran);
    Py_XDECREF(names);
    return status;
}

static ds_status create(const ds_host *host, void **out)
{
    ds_param_reader in = {host, DS_OK};
    const double friction = ds_param_real(&in, "friction"), target = ds_param_real(&in, "target");
    if (in.status != DS_OK) {
        return in.status;
    }
    pthread_once(&once, start_python);
    if (!Py_IsInitialized()) {
        return ds_host_fail(host, DS_E_GENERIC, "Python does not start: is its standard library installed?");
    }
    ball *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for a ball");
    }
    b->host = host;
    const PyGILState_STATE lock = PyGILState_Ensure();
    const ds_status status = make_ball(host, friction, target, &b->object);
    PyGILState_Release(lock);
    if (status != DS_OK) {
        free(b);
        return status;
    }
    *out = b;
    return DS_OK;
}

static void destroy(void *self)
{
    ball *b = self;
    if (b == NULL) {
        return;
    }
    const PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *done = PyObject_CallMethod(b->object, "end", NULL);
    Py_XDECREF(done);
    Py_DECREF(b->object);
    PyErr_Clear();
    PyGC_Collect(); /* the class and its methods refer to each other */
    PyGILState_Release(lock);
    free(b);
}

static ds_status info(void *self, ds_env_info *out)
{
    (void)self;
    out->n = 2;
    out->steps = 200;
    out->dt = 0.01;
    out->loss_floor = 0;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -4;
        upper[i] = 4;
        if (x0 != NULL) {
            x0[i] = 0.5;
        }
    }
    return DS_OK;
}

static ds_status simulate_row(void *self, ds_eval *io)
{
    ball *b = self;
    double loss = 0, grad[2] = {0, 0};
    const PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *answer = PyObject_CallMethod(b->object, "ask", "dd", io->x[0], io->x[1]);
    const int told = answer != NULL && PyArg_ParseTuple(answer, "ddd", &loss, &grad[0], &grad[1]);
    const ds_status status = told ? DS_OK : fail(b->host);
    Py_XDECREF(answer);
    PyGILState_Release(lock);
    if (status != DS_OK) {
        return status;
    }
    io->outcome = isfinite(loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->loss = isfinite(loss) ? loss : INFINITY;
    io->cost_steps = 200;
    if ((io->want & DS_WANT_GRAD) != 0) {
        io->grad[0] = grad[0];
        io->grad[1] = grad[1];
        io->grad_kind = DS_GRAD_FORWARD;
    }
    return DS_OK;
}

static ds_status evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, simulate_row);
}

static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = destroy,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT | DS_ENV_OWN_PROCESS,
                             .id = "embedded_python",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "A ball pushed over hilly ground, simulated by Python.",
                             .description = "",
                             .citation = "",
                             .params = params};
DS_DEFINE_ENV(desc, vtable)
