import torch


def last_valid(outputs, lengths):
    """The RNN's output at the last step that is not padding."""
    idx = (lengths - 1).clamp(0, outputs.size(1) - 1)
    return outputs[torch.arange(outputs.size(0)), idx]
