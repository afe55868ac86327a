import unittest

import torch

from scan import ema


class EmaTest(unittest.TestCase):
    def test_zero_decay_copies(self):
        x = torch.randn(3, 9, 5)
        y = ema(x, torch.zeros(5))
        self.assertTrue(torch.allclose(x, y))


if __name__ == "__main__":
    unittest.main(exit=False)
