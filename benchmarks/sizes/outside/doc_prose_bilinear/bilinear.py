def bilinear_score(left, weight, right):
    """Scores each of the n pairs with a bilinear form.

    ``left`` is an n by p matrix, ``right`` an n by q matrix, and ``weight`` is p by q.
    Gives one number per pair.
    """
    return ((left @ weight) * right).sum(dim=1)
