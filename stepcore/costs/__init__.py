"""What a program costs, from its types alone: traffic, memory, operations. No torch, and below the editor features."""
