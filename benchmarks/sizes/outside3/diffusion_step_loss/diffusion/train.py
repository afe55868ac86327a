import torch


def weighted_mse(pred, noise, snr, gamma=5.0):
    """Min-SNR weighting, eps prediction."""
    w = snr.clamp(max=gamma) / snr.clamp(min=1e-6)
    per_sample = (pred - noise).square().flatten(1).mean(1)
    return (w * per_sample).mean()


def train(model, loader, alphas_cumprod, opt):
    for images, _ in loader:
        bs = images.shape[0]
        t = torch.randint(0, len(alphas_cumprod), (bs,))
        a = alphas_cumprod[t]
        noise = torch.randn_like(images)
        noisy = a.sqrt()[:, None, None, None] * images + (1 - a).sqrt()[:, None, None, None] * noise
        loss = weighted_mse(model(noisy, t), noise, a / (1 - a))
        opt.zero_grad()
        loss.backward()
        opt.step()


def smoke_test():
    bs = 4
    pred = torch.randn(bs, 3, 32, 48)
    noise = torch.randn(bs, 3, 32, 48)
    snr = torch.rand(bs)
    print(weighted_mse(pred, noise, snr))


if __name__ == "__main__":
    smoke_test()
