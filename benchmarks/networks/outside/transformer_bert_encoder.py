import math
import torch
from torch import nn


class BertEmbeddings(nn.Module):
    def __init__(self, vocab_size, hidden, max_pos, type_vocab):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, hidden, padding_idx=0)
        self.position_embeddings = nn.Embedding(max_pos, hidden)
        self.token_type_embeddings = nn.Embedding(type_vocab, hidden)
        self.LayerNorm = nn.LayerNorm(hidden, eps=1e-12)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("position_ids", torch.arange(max_pos).expand((1, -1)))

    def forward(self, input_ids, token_type_ids):
        seq_length = input_ids.size(1)
        position_ids = self.position_ids[:, :seq_length]
        e = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        e = e + self.position_embeddings(position_ids)
        return self.dropout(self.LayerNorm(e))


class BertSelfAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.num_attention_heads = heads
        self.attention_head_size = hidden // heads
        self.all_head_size = hidden
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)

    def transpose_for_scores(self, x):
        new_x_shape = x.size()[:-1] + (self.num_attention_heads, self.attention_head_size)
        return x.view(new_x_shape).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask):
        q = self.transpose_for_scores(self.query(hidden_states))
        k = self.transpose_for_scores(self.key(hidden_states))
        v = self.transpose_for_scores(self.value(hidden_states))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.attention_head_size)
        scores = scores + attention_mask
        probs = nn.functional.softmax(scores, dim=-1)
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        return context.view(context.size()[:-2] + (self.all_head_size,))


class BertLayer(nn.Module):
    def __init__(self, hidden, heads, intermediate):
        super().__init__()
        self.attention = BertSelfAttention(hidden, heads)
        self.attention_output = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.intermediate = nn.Linear(hidden, intermediate)
        self.output = nn.Linear(intermediate, hidden)
        self.output_norm = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x, mask):
        a = self.attention_output(self.attention(x, mask))
        x = self.attention_norm(a + x)
        h = self.output(nn.functional.gelu(self.intermediate(x)))
        return self.output_norm(h + x)


class Model(nn.Module):
    def __init__(self, vocab=60, hidden=32, layers=6, heads=4, max_pos=16):
        super().__init__()
        self.embeddings = BertEmbeddings(vocab, hidden, max_pos, 2)
        self.encoder = nn.ModuleList([BertLayer(hidden, heads, 4 * hidden) for _ in range(layers)])
        self.pooler = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh())

    def forward(self, input_ids, token_type_ids, attention_mask):
        extended = attention_mask[:, None, None, :]
        extended = (1.0 - extended.float()) * -10000.0
        x = self.embeddings(input_ids, token_type_ids)
        for layer in self.encoder:
            x = layer(x, extended)
        return x, self.pooler(x[:, 0])


def get_inputs():
    ids = torch.randint(1, 60, (2, 10))
    ids[0, 1] = 59
    types = torch.zeros(2, 10, dtype=torch.int64)
    types[:, 6:] = 1
    mask = torch.ones(2, 10, dtype=torch.int64)
    mask[1, 8:] = 0
    return [ids, types, mask]
