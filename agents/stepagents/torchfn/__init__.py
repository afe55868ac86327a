"""From a PyTorch function in a user's file to a graph of core ATen operations, and back to a verified program."""
