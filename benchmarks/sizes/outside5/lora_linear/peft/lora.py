import torch.nn.functional as F


def lora_linear(x, weight, lora_a, lora_b, alpha=16):
    """Frozen linear layer with a low-rank update.

    x: activations, (batch, seq_len, in_features)
    weight: frozen weight as in ``nn.Linear``
    lora_a, lora_b: the two factors of the update
    """
    out_features, in_features = weight.shape
    rank = lora_a.shape[0]
    base = F.linear(x, weight)
    update = F.linear(F.linear(x, lora_a), lora_b)
    return base + alpha / rank * update
