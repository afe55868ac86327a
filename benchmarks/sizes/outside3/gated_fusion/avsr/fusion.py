import torch
from torch import nn


class GatedFusion(nn.Module):
    """Mix an audio and a video stream that run at the same frame rate."""

    def __init__(self, d_audio=128, d_video=512, d_out=256):
        super().__init__()
        self.proj_a = nn.Linear(d_audio, d_out)
        self.proj_v = nn.Linear(d_video, d_out)
        self.gate = nn.Linear(2 * d_out, d_out)

    def forward(self, audio, video):
        # audio: (B, T, d_audio)
        a = self.proj_a(audio)
        v = self.proj_v(video)
        g = torch.sigmoid(self.gate(torch.cat([a, v], dim=-1)))
        return g * a + (1 - g) * v
