import torch


def log_partition(emissions, mask, transitions, start, end):
    """Forward algorithm of a linear-chain CRF.

    Args:
        emissions (`~torch.Tensor`): Emission scores of size
            ``(seq_length, batch_size, num_tags)``.
        mask (`~torch.BoolTensor`): Mask of size ``(seq_length, batch_size)``.
        transitions: Transition scores of size ``(num_tags, num_tags)``.
        start: Start scores, ``(num_tags,)``.
        end: End scores, ``(num_tags,)``.

    Returns:
        `~torch.Tensor`: size ``(batch_size,)``.
    """
    score = start + emissions[0]
    for i in range(1, emissions.size(0)):
        nxt = score.unsqueeze(2) + transitions + emissions[i].unsqueeze(1)
        nxt = torch.logsumexp(nxt, dim=1)
        score = torch.where(mask[i].unsqueeze(1), nxt, score)
    return torch.logsumexp(score + end, dim=1)
