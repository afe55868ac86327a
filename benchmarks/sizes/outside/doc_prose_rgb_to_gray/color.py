def rgb_to_gray(image):
    """Convert a batch of RGB images to grayscale.

    The images are expected as :math:`(B, 3, H, W)`, with values in [0, 1]; the
    result is :math:`(B, 1, H, W)`.
    """
    r, g, b = image.unbind(dim=1)
    gray = 0.299 * r + 0.587 * g + 0.114 * b
    return gray.unsqueeze(1)
