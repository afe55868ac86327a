def frame_energy(signal, window):
    batch, length = signal.shape
    frames = signal.view(batch, length // 4, 4)
    return (frames * window.view(1, 1, 4)).pow(2).sum(dim=2).log1p()
