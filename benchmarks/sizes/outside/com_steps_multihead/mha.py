def merge_heads_project(ctx, wo):
    # ctx: B x H x T x K   wo: (H*K) x D
    b, h, t, k = ctx.shape
    y = ctx.transpose(1, 2).reshape(b, t, h * k)   # B x T x HK
    return y @ wo                                  # B x T x D
