import torch


def pseudobulk(counts, cell_type, size_factors, marker_idx, n_types=8):
    """Mean log expression of marker genes for each cell type.

    Args:
        counts (Tensor): cells x genes
        cell_type (LongTensor): the label of each cell, 0 <= label < n_types
        size_factors (Tensor): library size of each cell, relative to the median
        marker_idx (LongTensor): columns to keep
    """
    norm = torch.log1p(counts / size_factors[:, None].clamp(min=1e-3))
    norm = norm[:, marker_idx]                                  # cells x markers
    sums = torch.zeros(n_types, norm.shape[1]).index_add_(0, cell_type, norm)
    n_cells = torch.zeros(n_types).index_add_(0, cell_type, torch.ones(len(cell_type)))
    return sums / n_cells.clamp(min=1)[:, None]


def demo():
    counts = torch.poisson(torch.rand(500, 2000))
    labels = torch.randint(8, (500,))
    sf = counts.sum(1) / counts.sum(1).median()
    return pseudobulk(counts, labels, sf, torch.arange(50))
