import torch

from models.stem import ConvStem

model = ConvStem()
model.eval()
images = torch.randn(2, 3, 32, 48)
with torch.no_grad():
    tokens = model(images)
print(tokens.shape)
