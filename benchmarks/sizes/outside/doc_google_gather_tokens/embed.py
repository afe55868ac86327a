def embed_tokens(tokens, table, positions):
    """Looks up tokens and adds positions.

    Args:
      tokens: LongTensor of shape [batch, seq_len], entries below vocab_size.
      table: float tensor of shape [vocab_size, dim].
      positions: float tensor of shape [seq_len, dim].

    Returns:
      float tensor of shape [batch, seq_len, dim].
    """
    return table[tokens] + positions
