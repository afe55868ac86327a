import torch

N_FFT = 400
HOP = 160


def log_mel(wav, mel_basis):
    spec = torch.stft(
        wav,
        N_FFT,
        hop_length=HOP,
        window=torch.hann_window(N_FFT),
        center=True,
        pad_mode="constant",
        return_complex=True,
    )
    power = spec.abs() ** 2
    mel = torch.matmul(mel_basis, power)
    return torch.log10(mel.clamp(min=1e-10))
