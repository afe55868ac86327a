import torch

MEAN = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)


def standardize(images):
    return (images - MEAN) / STD


if __name__ == "__main__":
    batch = torch.rand(4, 3, 24, 32)
    print(standardize(batch).shape)
