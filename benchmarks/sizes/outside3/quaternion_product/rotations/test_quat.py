import unittest

import torch
import torch.nn.functional as F

from quat import qmul


class TestQuat(unittest.TestCase):
    def test_norm(self):
        n = 20
        a = F.normalize(torch.randn(n, 4), dim=-1)
        b = F.normalize(torch.randn(n, 4), dim=-1)
        c = qmul(a, b)
        self.assertTrue(torch.allclose(c.norm(dim=-1), torch.ones(n)))

    def test_identity(self):
        a = torch.randn(5, 4)
        one = torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(5, 4)
        self.assertTrue(torch.allclose(qmul(a, one), a))
