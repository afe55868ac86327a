def linear(input, weight, bias):
    r"""Applies :math:`y = xA^T + b`.

    Shape:
        - input: :math:`(N, in\_features)`
        - weight: :math:`(out\_features, in\_features)`
        - bias: :math:`(out\_features)`
        - output: :math:`(N, out\_features)`
    """
    return input.matmul(weight.t()) + bias
