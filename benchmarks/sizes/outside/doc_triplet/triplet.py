def triplet_margin(anchor, positive, negatives, margin=0.2):
    """Triplet loss against several negatives.

    Arguments:
        anchor: embeddings of the anchors, ``batch_size x dim``
        positive: embeddings of the positives, ``batch_size x dim``
        negatives: ``batch_size x num_negatives x dim``
        margin: float

    Returns: ``batch_size x num_negatives``
    """
    dp = (anchor - positive).pow(2).sum(-1)
    dn = (anchor.unsqueeze(1) - negatives).pow(2).sum(-1)
    return (dp.unsqueeze(1) - dn + margin).clamp(min=0)
