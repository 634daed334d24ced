# SPDX-License-Identifier: Apache-2.0
"""Losses of environments as differentiable functions of JAX: diffsim.jax.loss(env)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ._environment import Environment, environment
from ._errors import DiffsimError, UnsupportedError
from ._settings import reals, undo_rounding


def loss(env: Environment, noise_key=None):
    """A function of an array x (n,) or (..., n) that returns the losses, () or (...), of its precision.

        f = diffsim.jax.loss(env)
        jax.value_and_grad(f)(env.x0)
        jax.jit(jax.vmap(jax.grad(f)))(points)       # one batch, in parallel by the workers of env

    The simulation computes in double precision on the processor; ``jax.config.update("jax_enable_x64", True)`` keeps that.
    Arrays of other types are refused. ``noise_key`` as in :meth:`Environment.loss`. Failures raise as in PyTorch; inside ``jit``
    JAX raises its own RuntimeError, with our line in it. Second derivatives raise UnsupportedError. Threads take turns, as with
    ``env`` itself; a process that was forked makes an environment of its own.
    """
    return Function(env, noise_key)


class Function:
    """What :func:`loss` returns. It can be pickled: the environment is opened again where it is unpickled."""

    def __init__(self, env: Environment, noise_key=None):
        self.env, self.noise_key = environment(env, "diffsim.jax.loss()"), noise_key
        self.__name__ = f"loss_of_{env.name}"
        self._loss = _made(env, noise_key)

    def __call__(self, x):
        return self._loss(x)

    def __reduce__(self):
        return loss, (self.env, self.noise_key)


def _made(env, noise_key):
    failures: list = []  # of callbacks, which JAX wraps in its own errors

    def evaluated(function, x):
        x = np.asarray(x)
        rows = x.reshape(-1, env.n)
        failures.clear()
        try:
            return function(undo_rounding(rows, rows.astype(np.float64), env.lower, env.upper), noise_key)
        except Exception as e:
            failures.append(e)
            raise

    def host_loss(x):
        return np.asarray(evaluated(env.loss, x), x.dtype).reshape(x.shape[:-1])

    def host_both(x):
        value, grad = evaluated(env.loss_and_grad, x)
        return np.asarray(value, x.dtype).reshape(x.shape[:-1]), np.asarray(grad, x.dtype).reshape(x.shape)

    def checked(x):
        """x as an array of JAX, (..., n), in single or double precision."""
        env._check_open()  # before JAX begins, which a closed environment cannot end
        if not isinstance(x, (jax.Array, list, tuple, int, float)):
            a = reals(x, "x")
            kind = np.asarray(x).dtype
            if kind.kind != "f" or kind.itemsize < 4:
                raise TypeError(f"x is {kind}{list(a.shape)}: expected float64 or float32, as by x.astype(float)")
            x = a.astype(np.float32 if kind.itemsize == 4 else np.float64, copy=False)
        try:
            x = jnp.asarray(x)
        except (TypeError, ValueError, OverflowError) as e:
            raise TypeError(f"x: expected real numbers ({str(e).splitlines()[0][:120]})") from None
        if x.dtype not in (jnp.float32, jnp.float64):
            raise TypeError(f"x is {x.dtype}{list(x.shape)}: expected float64 or float32, as by x.astype(float)")
        if x.ndim < 1 or x.shape[-1] != env.n or 0 in x.shape:
            raise TypeError(
                f"x is {x.dtype}{list(x.shape)}: expected real numbers of shape ({env.n},) or (..., {env.n})"
            )
        return x

    @jax.custom_vjp
    def f(x):
        if not isinstance(x, jax.core.Tracer):  # JAX would wrap an exception
            return jnp.asarray(host_loss(np.asarray(x)))
        return jax.pure_callback(host_loss, jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), x, vmap_method="broadcast_all")

    @jax.custom_jvp
    def both(x):
        shapes = jax.ShapeDtypeStruct(x.shape[:-1], x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(host_both, shapes, x, vmap_method="broadcast_all")

    @both.defjvp
    def no_second(primals, tangents):
        raise UnsupportedError(
            f"second derivatives of the loss of {env.name} by JAX: there are none; env.hvp() has products with them "
            'where the environment does (channels with "hv")'
        )

    def forward(x):
        if not env.has_gradient:
            raise UnsupportedError(f"{env.name} has no gradient")
        if not isinstance(x, jax.core.Tracer):
            return tuple(map(jnp.asarray, host_both(np.asarray(x))))
        return both(x)

    def backward(grad, weight):
        return (weight[..., None] * grad,)

    f.defvjp(forward, backward)

    def loss_of(x):
        x = checked(x)
        try:
            return f(x)
        except (RuntimeError, ValueError) as e:
            if failures and not isinstance(e, DiffsimError):
                raise failures.pop() from None
            raise

    return loss_of
