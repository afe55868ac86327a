def weighted_mean(features, weights):
    r"""Weighted average of rows.

    Parameters
    ----------
    features : (n_samples, n_features) tensor
    weights : (n_samples,) tensor
        Need not sum to one.

    Returns
    -------
    (n_features,) tensor
    """
    w = weights / weights.sum()
    return (features * w[:, None]).sum(0)
