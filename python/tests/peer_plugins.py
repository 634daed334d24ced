# SPDX-License-Identifier: Apache-2.0
"""Plugins in Python with losses of PyTorch and JAX: gradients without further code, alone and in batches."""

import importlib.util
import unittest

import numpy as np

import diffsim
from support import Case, dshost

TORCH = '''
import torch


class Alone:
    lower, upper = [-2.0] * 4, 2.0

    def loss(self, x: torch.Tensor):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


class Many(Alone):
    def loss_batch(self, x: torch.Tensor):
        return (100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(dim=1)


class Batch:
    lower, upper = [-2.0] * 4, 2.0
    loss_batch = Many.loss_batch
'''
TORCH_MORE = """

class Flat:
    lower, upper = [-2.0] * 4, 2.0

    def loss_batch(self, x: torch.Tensor):
        return x.shape[0]


class Deaf(torch.nn.Module):
    lower, upper = [-2.0] * 4, 2.0

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))

    def loss_batch(self, x):
        return self.weight.repeat(len(x))


class Module(torch.nn.Module):
    lower, upper = [-2.0] * 4, 2.0

    def loss(self, x):
        return Alone.loss(self, x)
"""
JAX_MORE = """

class Compiled:
    lower, upper = [-2.0] * 4, 2.0
    loss = staticmethod(jax.jit(lambda x: Alone().loss(x)))
"""
JAX = TORCH.replace("import torch", "import jax").replace("torch.Tensor", "jax.Array").replace("sum(dim=1)", "sum(axis=1)")


class Frameworks(Case):
    def differentiated(self, name, text, *more):
        if importlib.util.find_spec(name) is None:
            self.skipTest(f"there is no {name}")
        file = self.path(f"{name}_losses.py")
        with open(file, "w", encoding="utf-8") as f:
            f.write(text)
        x = np.random.default_rng(0).uniform(-2, 2, (21, 4))
        bend = x[:, 1:] - x[:, :-1] ** 2
        loss = (100 * bend**2 + (1 - x[:, :-1]) ** 2).sum(axis=1)
        grad = np.zeros_like(x)
        grad[:, 1:] += 200 * bend
        grad[:, :-1] -= 400 * bend * x[:, :-1] + 2 * (1 - x[:, :-1])
        for k in ("Alone", "Many", "Batch", *more):
            with diffsim.make(f"{file}:{k}", jobs=1, timeout=100) as env:
                found = env.loss_and_grad(x)
                np.testing.assert_allclose(found[0], loss, 1e-12, 0, err_msg=k)
                np.testing.assert_allclose(found[1], grad, 1e-11, 1e-9, err_msg=k)
                one = env.loss_and_grad(x[3])
                np.testing.assert_allclose(one[0], loss[3], 1e-12, 0, err_msg=k)
                self.assertEqual(env.loss(x[3]), one[0])
        return file

    def test_torch(self):
        """PyTorch: the gradient of loss(x) and of loss_batch(x)"""
        file = self.differentiated("torch", TORCH + TORCH_MORE, "Module")
        self.assertNotIn("not ok", dshost("check", file + ":Many", "--only", "rows.same"))  # JAX compiles each shape anew
        with diffsim.make(self.path("torch_losses.py") + ":Flat", jobs=1, timeout=100) as env:
            self.raises(diffsim.EvaluationError, r"loss_batch\(x\) of torch has to return a tensor .* is int", env.loss_and_grad, env.x0)
            self.raises(diffsim.EvaluationError, r"loss_batch\(x\) of torch returned int", env.loss, env.x0)
        with diffsim.make(self.path("torch_losses.py") + ":Deaf", jobs=1, timeout=100) as env:
            self.same(env.loss_and_grad(env.x0)[1], np.zeros(4))

    def test_jax(self):
        """JAX: the gradient of loss(x) and of loss_batch(x)"""
        self.differentiated("jax", JAX + JAX_MORE, "Compiled")


if __name__ == "__main__":
    unittest.main()
