import torch
from torch import nn


class DuelingQNet(nn.Module):
    """Dueling network for Atari.

    Observations are batches of 4 stacked grayscale frames of 84x84 pixels.
    """

    def __init__(self, frames=4, n_actions=6):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(frames, 32, 8, stride=4), nn.ReLU(),
            nn.Conv2d(32, 64, 4, stride=2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=1), nn.ReLU(),
        )
        self.value = nn.Sequential(nn.Linear(3136, 256), nn.ReLU(), nn.Linear(256, 1))
        self.advantage = nn.Sequential(nn.Linear(3136, 256), nn.ReLU(), nn.Linear(256, n_actions))

    def forward(self, obs):
        h = self.features(obs).flatten(1)
        v, a = self.value(h), self.advantage(h)
        return v + a - a.mean(dim=1, keepdim=True)
