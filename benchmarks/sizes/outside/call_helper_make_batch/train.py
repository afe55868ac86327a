import torch
import torch.nn.functional as F

NUM_CLASSES = 7


def make_batch(batch_size=16):
    logits = torch.randn(batch_size, NUM_CLASSES)
    labels = torch.randint(0, NUM_CLASSES, (batch_size,))
    return logits, labels


def loss_fn(logits, labels):
    logp = F.log_softmax(logits, dim=-1)
    picked = logp.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    return -picked.mean()


def train_step():
    logits, labels = make_batch()
    return loss_fn(logits, labels)


if __name__ == "__main__":
    print(train_step())
