import torch


class BeamSearch:
    def __init__(self, beam_size=4, length_penalty=0.6):
        self.beam_size = beam_size
        self.length_penalty = length_penalty

    def step(self, log_probs, beam_scores):
        # log_probs:   (batch * beam_size, vocab), next-token scores of every hypothesis
        # beam_scores: (batch, beam_size)
        k = self.beam_size
        vocab = log_probs.size(-1)
        total = log_probs.view(-1, k, vocab) + beam_scores.unsqueeze(-1)
        # the best continuations over all hypotheses of a sample
        scores, flat = total.view(-1, k * vocab).topk(k, dim=1)
        origin = torch.div(flat, vocab, rounding_mode="floor")
        return scores, origin, flat % vocab

    def rescale(self, scores, length):
        return scores / ((5 + length) / 6) ** self.length_penalty
