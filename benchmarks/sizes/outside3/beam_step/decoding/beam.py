import torch


def beam_step(log_probs, beam_scores, eos_id=2):
    # log_probs: (beam, vocab)   beam_scores: (beam,)
    beam, vocab = log_probs.size()
    total = log_probs + beam_scores[:, None]
    scores, flat = total.flatten().topk(beam)
    parents = torch.div(flat, vocab, rounding_mode="floor")
    tokens = flat % vocab
    return scores, parents, tokens, tokens == eos_id
