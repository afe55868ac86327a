import torch
import torch.nn.functional as F


def clip_loss(image_features, text_features, logit_scale):
    image_features = F.normalize(image_features, dim=-1)
    text_features = F.normalize(text_features, dim=-1)
    logits = logit_scale.exp() * image_features @ text_features.t()
    labels = torch.arange(len(logits))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


if __name__ == "__main__":
    torch.manual_seed(0)
    img = torch.randn(16, 512)
    txt = torch.randn(16, 512)
    scale = torch.tensor(2.659)
    print("random pairs:", clip_loss(img, txt, scale).item())
    print("perfect pairs:", clip_loss(img, img, scale).item())
