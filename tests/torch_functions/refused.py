# mypy: ignore-errors
"""Functions that cannot be taken. The comment at a line says with what words they are refused there."""

import torch
import torch.nn.functional as F


def endless(x):  # stepsmith: x[m]
    while True:  # REFUSED: still running
        x = -x  # REFUSED: still running


def opens(x):  # stepsmith: x[m]
    with open("numbers.txt") as file:  # REFUSED: opens the file  # noqa: PTH123
        return x + len(file.read())


def on_gpu(x):  # stepsmith: x[m]
    return x.cuda() + 1  # REFUSED: needs a GPU


def random(x):  # stepsmith: x[m]
    y = x + 1
    return F.dropout(y, 0.5)  # REFUSED: random numbers


def branches(x):  # stepsmith: x[m]
    if x.sum() > 0:  # REFUSED: depends on the values
        return x
    return -x


def selects(x):  # stepsmith: x[m]
    return x[x > 0]  # REFUSED: size of a result depends


def reads_value(x):  # stepsmith: x[m]
    return x * x[0].item()  # REFUSED: depends on the values


def to_numpy(x):  # stepsmith: x[m]
    return torch.from_numpy(x.numpy())  # REFUSED: leaves PyTorch for NumPy


def mismatched(x, w):  # stepsmith: x[m, k], w[j, n]
    return x @ w  # REFUSED: tried with m=11, k=13


def raises(x):  # stepsmith: x[m]
    raise ValueError("not today")  # REFUSED: ValueError: not today


def ends(x):  # stepsmith: x[m]
    raise SystemExit(3)  # REFUSED: ends the process


def recursive(x):  # stepsmith: x[m]
    return recursive(x)  # REFUSED: calls itself without end


def starts_process(x):  # stepsmith: x[m]
    import os

    os.system("true")  # REFUSED: calls os.system
    return x


def nothing(x):  # stepsmith: x[m]  # REFUSED: returns no tensor
    x.add_(1)


def number(x):  # stepsmith: x[m]  # REFUSED: returns no tensor
    return x.shape[0]


def turned(x):  # stepsmith: x[m, n]
    x.t_()  # REFUSED: .t_(...) changes the shape of an argument in place; write .t(...)
    return x.sum(0)


def shortened(x):  # stepsmith: x[m, n]
    x.resize_(2)  # REFUSED: .resize_(...) changes the shape of an argument in place; make a new tensor
    return x
