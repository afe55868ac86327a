"""The functional simulator. Only modules below this package import torch."""
