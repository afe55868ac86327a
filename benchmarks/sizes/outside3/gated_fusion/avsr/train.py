import torch

from fusion import GatedFusion


def main():
    fusion = GatedFusion()
    for _ in range(3):
        out = fusion(torch.randn(2, 50, 128), torch.randn(2, 50, 512))
        print(out.mean())


if __name__ == "__main__":
    main()
