import torch
from torch import nn


class MeanPooling(nn.Module):
    def __init__(self, normalize=True):
        super().__init__()
        self.normalize = normalize

    def forward(self, token_embeddings, attention_mask):
        """Mean over the real tokens of each sentence.

        token_embeddings: [batch, seq, dim] last hidden state
        attention_mask: [batch, seq] 1 for real tokens, 0 for padding, as the tokenizer returns it
        """
        mask = attention_mask.unsqueeze(-1).expand(token_embeddings.size()).float()
        summed = torch.sum(token_embeddings * mask, 1)
        mean = summed / torch.clamp(mask.sum(1), min=1e-9)
        if self.normalize:
            mean = nn.functional.normalize(mean, dim=-1)
        return mean
