def patchify(imgs, p=4):
    *_, c, hh, ww = imgs.shape
    h, w = hh // p, ww // p
    x = imgs.reshape(-1, c, h, p, w, p)
    x = x.permute(0, 2, 4, 3, 5, 1)
    return x.reshape(x.shape[0], h * w, p * p * c)
