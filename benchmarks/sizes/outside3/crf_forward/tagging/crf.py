import torch


def crf_log_partition(emissions, mask, transitions, start):
    """Forward algorithm of a linear chain CRF.

    Args:
        emissions: scores of the tags, (seq_length, batch_size, num_tags)
        mask: (seq_length, batch_size), which tokens count
        transitions: score of going from one tag to another
        start: score of starting with a tag
    """
    seq_length = emissions.size(0)
    score = start + emissions[0]
    for i in range(1, seq_length):
        nxt = score.unsqueeze(2) + transitions + emissions[i].unsqueeze(1)
        nxt = torch.logsumexp(nxt, dim=1)
        score = torch.where(mask[i].unsqueeze(1), nxt, score)
    return torch.logsumexp(score, dim=1)


def _example():
    torch.manual_seed(0)
    emissions = torch.randn(12, 4, 9)
    mask = torch.ones(12, 4, dtype=torch.bool)
    return crf_log_partition(emissions, mask, torch.randn(9, 9), torch.randn(9))
