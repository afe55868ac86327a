import torch


def tv_loss(img):
    dh = (img[..., 1:, :] - img[..., :-1, :]).abs().mean()
    dw = (img[..., :, 1:] - img[..., :, :-1]).abs().mean()
    return dh + dw


def main():
    canvas = torch.rand(1, 3, 128, 192, requires_grad=True)
    opt = torch.optim.Adam([canvas], lr=0.05)
    for _ in range(100):
        opt.zero_grad()
        loss = tv_loss(canvas)
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main()
