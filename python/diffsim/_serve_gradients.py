# SPDX-License-Identifier: Apache-2.0
"""Losses and residuals of PyTorch, JAX and NumPy for serve.py: the value, and the gradient without a line of glue."""
from __future__ import annotations

import inspect
import types

from ._serve_errors import Refused, describe, numbers
from ._serve_parameters import annotations_of

VALUE, JV, JTV = 1, 2, 3  # DS_QUERY_*


def framework_of(target, module):
    """"torch", "jax" or "": the library whose arrays loss() takes and returns, so that the gradient needs no
    further code: from the attribute ``autograd``, else from the annotation of x, or because it is a
    function of jax.jit or a torch.nn.Module."""
    said = getattr(target, "autograd", None)
    if said is not None:
        if said not in ("torch", "jax", ""):
            raise Refused(f"autograd = {said!r}: use 'torch', 'jax' or ''")
        return said
    loss = target
    if isinstance(target, type):
        loss = next((f for f in (getattr(target, k, None) for k in ("residuals", "loss", "loss_batch")) if f is not None), None)
    if type(loss).__module__.startswith("jaxlib."):
        return "jax"
    if isinstance(loss, types.FunctionType):
        names = list(inspect.signature(loss).parameters)[1 if isinstance(target, type) else 0:]
        hint = annotations_of(loss).get(names[0], "") if names else ""
        hint = getattr(hint, "__forward_arg__", hint)
        hint = hint if isinstance(hint, str) else f"{getattr(hint, '__module__', '')}.{getattr(hint, '__qualname__', '')}"
        for name in ("torch", "jax"):
            if hint.split(".")[0] in (name, name + "lib") or hint.startswith(f"{name}.") or \
                    (name == "jax" and hint.startswith("jnp.")):
                return name
    modules = [f"{c.__module__}.{c.__name__}" for c in getattr(target, "__mro__", ())]
    return "torch" if "torch.nn.modules.module.Module" in modules else ""


def tested_tensor(torch, loss, call):
    if not isinstance(loss, torch.Tensor) or not loss.requires_grad:
        raise Refused(f"{call} of torch has to return a tensor that depends on x by operations of torch: what it "
                      f"returned is {describe(loss)}")


class Torch:
    """loss(x) of PyTorch, with its gradient by autograd; double precision."""

    def __init__(self, loss, threads):
        import torch
        torch.set_num_threads(max(1, threads))
        self.torch, self.function = torch, loss

    def loss(self, x, **more):
        with self.torch.no_grad():
            return float(self.function(self.torch.from_numpy(x), **more))

    def loss_and_grad(self, x, **more):
        t = self.torch.from_numpy(x).requires_grad_()
        loss = self.function(t, **more)
        tested_tensor(self.torch, loss, "loss(x)")
        if loss.numel() != 1:
            raise Refused(f"loss(x) returned a tensor of shape {tuple(loss.shape)}: expected one number")
        grad, = self.torch.autograd.grad(loss.reshape(()), t, allow_unused=True)
        return loss.item(), self.torch.zeros_like(t).numpy() if grad is None else grad.numpy()


class Jax:
    """loss(x) of JAX, compiled with its gradient, and always both: a loss that was compiled alone may differ in its
    last bits."""

    def __init__(self, loss):
        import jax
        self.both = jax.jit(jax.value_and_grad(loss))

    def loss(self, x, **more):
        return float(self.both(x, **more)[0])

    def loss_and_grad(self, x, **more):
        loss, grad = self.both(x, **more)
        return float(loss), grad


class TorchBatch:
    """loss_batch(x) of PyTorch: points are rows, each loss depends on its own row."""

    def __init__(self, losses, threads):
        import torch
        torch.set_num_threads(max(1, threads))
        self.torch, self.function = torch, losses

    def loss(self, x, **more):
        with self.torch.no_grad():
            losses = self.function(self.torch.from_numpy(x), **more)
        if not isinstance(losses, self.torch.Tensor):
            raise Refused(f"loss_batch(x) of torch returned {describe(losses)}: expected a tensor of losses")
        return losses.detach().numpy()

    def loss_and_grad(self, x, **more):
        t = self.torch.from_numpy(x).requires_grad_()
        losses = self.function(t, **more)
        tested_tensor(self.torch, losses, "loss_batch(x)")
        grad, = self.torch.autograd.grad(losses.sum(), t, allow_unused=True)
        return losses.detach().numpy(), self.torch.zeros_like(t).numpy() if grad is None else grad.numpy()


class JaxBatch:
    """loss_batch(x) of JAX, compiled with its gradient for blocks of points; the last block is filled up, so
    that the bits of one point do not depend on the number of points."""

    BLOCK = 64

    def __init__(self, losses):
        import jax

        def both(x, more):
            values, back = jax.vjp(lambda x: losses(x, **more), x)
            return values, back(jax.numpy.ones_like(values))[0]
        self.both = jax.jit(both)

    def loss(self, x, **more):
        return self.loss_and_grad(x, **more)[0]

    def loss_and_grad(self, x, **more):
        import numpy
        k = len(x)
        filled = [numpy.concatenate([v, v[-1:].repeat(-k % self.BLOCK, axis=0)]) for v in (x, *more.values())]
        blocks = [self.both(part[0], dict(zip(more, part[1:])))
                  for part in zip(*(v.reshape(-1, self.BLOCK, *v.shape[1:]) for v in filled))]
        losses, grads = (numpy.concatenate(parts)[:k] for parts in zip(*blocks))
        return losses, grads


class Residuals:
    """A loss that is the sum of squares of r = residuals(x), with J = jacobian(x): loss r'r, gradient 2 J'r."""

    rows = 0  # residuals

    def __init__(self, e):
        self.function = e.residuals
        self.jacobian = getattr(e, "jacobian", None)
        self.can = [VALUE] + ([JV, JTV] if self.jacobian is not None else [])

    def value(self, x):
        return numbers(self.function(x), "residuals(x)")

    def slopes(self, x):
        """The Jacobian, as two functions of v: J v and J' v."""
        j = numbers(self.jacobian(x), "jacobian(x)")
        if j.ndim != 2 or j.shape[1] != x.size or j.shape[0] != self.rows:
            raise Refused(f"jacobian(x) has the shape {j.shape}, expected ({self.rows}, {x.size})")
        return (lambda v: j @ v), (lambda v: j.T @ v)


class TorchResiduals(Residuals):
    def __init__(self, e, threads):
        import torch
        torch.set_num_threads(max(1, threads))
        self.torch, self.function, self.can = torch, e.residuals, [VALUE, JV, JTV]

    def value(self, x):
        with self.torch.no_grad():
            return self.function(self.torch.from_numpy(x)).detach().numpy()

    def slopes(self, x):
        t = self.torch

        def jv(v):
            return t.func.jvp(self.function, (t.from_numpy(x),), (t.from_numpy(v),))[1].detach().numpy()

        def jtv(v):
            p = t.from_numpy(x).requires_grad_()
            return t.autograd.grad(self.function(p), p, t.from_numpy(v))[0].numpy()
        return jv, jtv


class JaxResiduals(Residuals):
    def __init__(self, e):
        import jax
        self.can = [VALUE, JV, JTV]
        f = e.residuals
        self.alone = jax.jit(f)
        self.forward = jax.jit(lambda x, v: jax.jvp(f, (x,), (v,))[1])
        self.reverse = jax.jit(lambda x, v: jax.vjp(f, x)[1](v)[0])

    def value(self, x):
        import numpy
        return numpy.asarray(self.alone(x), dtype=numpy.float64)

    def slopes(self, x):
        return (lambda v: self.forward(x, v)), (lambda v: self.reverse(x, v))
