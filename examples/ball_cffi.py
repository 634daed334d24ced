# SPDX-License-Identifier: Apache-2.0
"""The ball of hill.c in Python, as a C function for the environment ffi (package cffi, a C compiler):
    python3 ball_cffi.py                  makes libball.so
    dshost --config ball_cffi.ini
Needs cffi and a C compiler (Debian: python3-cffi, python3-dev). The function may use every module that Python
can import:
  * `global = true` in the .ini: modules take the symbols of the interpreter from the process, else their import fails with
    "undefined symbol: PyExc_...".
  * After an exception cffi returns 0, which would be a perfect loss: return a status (signature i32(...), error=-1) and write
    the loss to f, which is NaN before. A call that writes to stderr fails; `stderr = fine` in the .ini allows warnings.
  * Each worker has one interpreter. The same x must give the same bits: no state, fixed seeds, and one thread
    (OMP_NUM_THREADS is 1; PyTorch needs torch.set_num_threads(1)).
  * For a virtual environment set PYTHONPATH to its site-packages."""
import cffi

ffi = cffi.FFI()
ffi.embedding_api("int ball(const double *x, double *loss, double *gradient);")
ffi.set_source("_ball", "")
ffi.embedding_init_code("""
from _ball import ffi
import math

def simulate(q, v, friction=0.5, target=1.0, dt=0.01):
    dq, dv = [1.0, 0.0], [0.0, 1.0]
    for _ in range(200):
        slope, curvature = -3 * math.sin(3 * q), -9 * math.cos(3 * q)
        for i in 0, 1:
            dv[i] += dt * (-9.81 * curvature * dq[i] - friction * dv[i])
            dq[i] += dt * dv[i]
        v += dt * (-9.81 * slope - friction * v)
        q += dt * v
    miss = q - target
    return miss * miss, [2 * miss * d for d in dq]

@ffi.def_extern(error=-1)               # what an exception returns
def ball(x, loss, gradient):
    loss[0], slopes = simulate(x[0], x[1])
    if gradient:                        # NULL where none is wanted
        gradient[0:2] = slopes
    return 0
""")
ffi.compile(target="libball.so")
