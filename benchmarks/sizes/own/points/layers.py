import torch


def rotate(points, matrix):
    """Rotate points.

    Args:
        points: Tensor[N, 3]
        matrix: Tensor[3, 3]
    """
    return points @ matrix.T
