import unittest

import torch

from mixing import mix_at_snr


class MixingTest(unittest.TestCase):
    def setUp(self):
        self.speech = torch.randn(3, 800)
        self.noise = torch.randn(3, 800)

    def test_shape(self):
        snr = torch.tensor([0.0, 10.0, 20.0])
        out = mix_at_snr(self.speech, self.noise, snr)
        self.assertEqual(out.shape, self.speech.shape)

    def test_infinite_snr(self):
        out = mix_at_snr(self.speech, self.noise, torch.full((3,), 200.0))
        self.assertTrue(torch.allclose(out, self.speech, atol=1e-4))


if __name__ == "__main__":
    unittest.main()
