"""A PyTorch function as data: its graph, and the tensors that programs for it are verified on. No torch on import."""
