import torch


def luong_step(hidden, memory, weight):
    # hidden: (batch, hidden_size)
    # memory: (batch, src_len, hidden_size)
    # weight: (hidden_size, 2 * hidden_size)
    scores = torch.bmm(memory, hidden.unsqueeze(2)).squeeze(2)
    attn = torch.softmax(scores, dim=1)
    context = torch.bmm(attn.unsqueeze(1), memory).squeeze(1)
    concat = torch.cat([context, hidden], dim=1)
    return torch.tanh(torch.nn.functional.linear(concat, weight)), attn
