import torch


def sequence_score(emissions, tags, transitions):
    """Score of given tag sequences under a linear-chain CRF.

    ``transitions[i, j]`` is the score of going from tag i to tag j.
    """
    batch, steps, n_tags = emissions.shape
    score = emissions.gather(2, tags.unsqueeze(-1)).squeeze(-1).sum(1)     # (batch,)
    score = score + transitions[tags[:, :-1], tags[:, 1:]].sum(1)
    return score
