import torch


def gold_score(emissions, tags, transitions, start, end):
    # emissions: (seq_length, batch_size, num_tags)
    # tags: (seq_length, batch_size), long
    # transitions: (num_tags, num_tags)
    # start, end: (num_tags,)
    seq_length, batch_size = tags.shape
    batch = torch.arange(batch_size)

    # shape: (batch_size,)
    score = start[tags[0]]
    score = score + emissions[0, batch, tags[0]]
    for i in range(1, seq_length):
        score = score + transitions[tags[i - 1], tags[i]]
        score = score + emissions[i, batch, tags[i]]
    return score + end[tags[-1]]
