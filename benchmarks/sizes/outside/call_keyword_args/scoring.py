import torch


def score(users, items, bias):
    return users @ items.T + bias


def demo():
    n_users, n_items, rank = 5, 11, 8
    return score(
        bias=torch.zeros(n_items),
        users=torch.rand(n_users, rank),
        items=torch.rand(n_items, rank),
    )


if __name__ == "__main__":
    print(demo().shape)
