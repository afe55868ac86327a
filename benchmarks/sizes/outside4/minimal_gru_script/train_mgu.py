import torch

BATCH, SEQ, IN, HID = 4, 20, 10, 32


def mgu_forward(x, h0, Wf, Wh):
    h = h0
    states = []
    for step in x.unbind(1):
        f = torch.sigmoid(torch.cat([step, h], -1) @ Wf)
        cand = torch.tanh(torch.cat([step, f * h], -1) @ Wh)
        h = (1 - f) * h + f * cand
        states.append(h)
    return torch.stack(states, 1)


def main():
    Wf = torch.randn(IN + HID, HID, requires_grad=True)
    Wh = torch.randn(IN + HID, HID, requires_grad=True)
    opt = torch.optim.Adam([Wf, Wh], lr=1e-3)
    for _ in range(100):
        x = torch.randn(BATCH, SEQ, IN)
        h0 = torch.zeros(BATCH, HID)
        out = mgu_forward(x, h0, Wf, Wh)
        loss = (out.mean(-1) - x.sum(-1).cumsum(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main()
