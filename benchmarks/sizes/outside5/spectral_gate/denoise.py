import torch


def spectral_gate(magnitude, noise_profile, threshold=1.5, floor=0.05):
    gain = torch.sigmoid(8.0 * (magnitude / (threshold * noise_profile + 1e-6) - 1.0))
    return magnitude * gain.clamp(min=floor)


def demo():
    batch, n_bins, n_frames = 2, 257, 100
    mag = torch.rand(batch, n_bins, n_frames)
    profile = 0.1 * torch.rand(n_bins, 1)
    clean = spectral_gate(mag, profile)
    print(clean.mean(), mag.mean())


if __name__ == "__main__":
    demo()
