import torch.nn.functional as F


def tacotron_loss(mel_out, mel_postnet, mel_target, gate_out, gate_target):
    # mel_out, mel_postnet, mel_target: B x n_mels x T
    # gate_out, gate_target: B x T
    mel_loss = F.mse_loss(mel_out, mel_target) + F.mse_loss(mel_postnet, mel_target)
    gate_loss = F.binary_cross_entropy_with_logits(gate_out.reshape(-1, 1), gate_target.reshape(-1, 1))
    return mel_loss + gate_loss
