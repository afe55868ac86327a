import torch


def predict_rating(users, items, P, Q, bu, bi, mu=3.5):
    dot = (P[users] * Q[items]).sum(dim=1)
    return mu + bu[users] + bi[items] + dot


def l2(P, Q, reg=0.02):
    return reg * (P.pow(2).sum() + Q.pow(2).sum())
