import torch


def dice_loss(probs, target):
    inter = (probs * target).sum((-2, -1))
    total = (probs + target).sum((-2, -1))
    return 1 - ((2 * inter + 1) / (total + 1)).mean()


def test_perfect_overlap():
    target = torch.randint(0, 2, (2, 4, 8, 10)).float()
    probs = target.clone()
    assert dice_loss(probs, target) < 1e-4
