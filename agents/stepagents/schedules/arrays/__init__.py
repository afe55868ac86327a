"""Programs whose element functions compute blocks of any number of dimensions, as PyTorch writes tensors."""
