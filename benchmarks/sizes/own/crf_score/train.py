import torch
from tagger import sequence_score

NUM_TAGS = 9

if __name__ == "__main__":
    em = torch.randn(16, 20, NUM_TAGS)
    gold = torch.randint(0, NUM_TAGS, (16, 20))
    trans = torch.zeros(NUM_TAGS, NUM_TAGS)
    print(sequence_score(em, gold, trans).mean())
