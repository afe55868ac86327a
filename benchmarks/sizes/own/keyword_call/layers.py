import torch


def blend(a, b, weight):
    return weight * a + (1 - weight) * b
