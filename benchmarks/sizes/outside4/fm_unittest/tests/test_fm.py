import unittest

import torch

from fm import fm_second_order


class TestFM(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.batch_size, self.num_fields, self.embed_dim = 16, 7, 4

    def test_shape(self):
        emb = torch.randn(self.batch_size, self.num_fields, self.embed_dim)
        self.assertEqual(fm_second_order(emb).shape, (self.batch_size, 1))

    def test_single_field(self):
        emb = torch.randn(self.batch_size, 1, self.embed_dim)
        self.assertTrue(torch.allclose(fm_second_order(emb), torch.zeros(self.batch_size, 1), atol=1e-5))


if __name__ == "__main__":
    unittest.main()
