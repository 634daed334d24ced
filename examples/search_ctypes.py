# SPDX-License-Identifier: Apache-2.0
"""A search with any optimizer of diffsim by ask and tell, by ctypes alone. Copy the function.
    python3 search_ctypes.py [LIBRARY]    LIBRARY: path of libdiffsim.so.1, where the loader does not find it"""
import ctypes as c
import sys

lib = c.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libdiffsim.so.1")

class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("has_gradient", c.c_uint32), ("n", c.c_uint64),
                ("lower", c.POINTER(c.c_double)), ("upper", c.POINTER(c.c_double)), ("x0", c.POINTER(c.c_double)),
                ("budget", c.c_uint64), ("seed", c.c_uint64), ("settings", c.c_char_p),
                ("folder", c.c_char_p), ("name", c.c_char_p), ("resume", c.c_uint32), ("reserved", c.c_uint32)]

lib.ds_search_open.restype = c.c_void_p
lib.ds_search_open.argtypes = [c.c_char_p, c.POINTER(Options), c.c_char_p, c.c_uint64]
lib.ds_search_ask.argtypes = [c.c_void_p, c.POINTER(c.c_uint64), c.POINTER(c.POINTER(c.c_double)), c.POINTER(c.c_uint32)]
lib.ds_search_tell.argtypes = [c.c_void_p, c.POINTER(c.c_double), c.POINTER(c.c_double)]
lib.ds_search_close.argtypes = [c.c_void_p]

def minimise(f, lower, upper, optimizer="cmaes", budget=1000, seed=1, settings=""):
    """f(list of values) -> loss. Returns the best loss and its point."""
    n = len(lower)
    row = c.c_double * n
    o = Options(c.sizeof(Options), 0, n, row(*lower), row(*upper), None, budget, seed, settings.encode(),
                None, None, 0, 0)
    why = c.create_string_buffer(600)
    search = lib.ds_search_open(optimizer.encode(), o, why, len(why))
    if not search:
        raise ValueError(why.value.decode())
    count, x, want, best = c.c_uint64(), c.POINTER(c.c_double)(), c.c_uint32(), (float("inf"), None)
    try:
        while lib.ds_search_ask(search, count, x, want) == 0:
            points = [x[k * n:(k + 1) * n] for k in range(count.value)]
            losses = [float(f(p)) for p in points]
            best = min([best, *zip(losses, points)], key=lambda pair: pair[0])
            lib.ds_search_tell(search, (c.c_double * len(losses))(*losses), None)
    finally:
        lib.ds_search_close(search)
    return best

if __name__ == "__main__":
    print(minimise(lambda x: sum((v - 0.5) ** 2 for v in x), [-2, -2], [2, 2], "bo", 60))
