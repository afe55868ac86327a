import torch

from survival import cox_ph_loss

n_patients, n_genes = 300, 50
genes = torch.randn(n_patients, n_genes)
months = torch.rand(n_patients) * 60
died = torch.bernoulli(torch.full((n_patients,), 0.4))

beta = torch.zeros(n_genes, requires_grad=True)
opt = torch.optim.LBFGS([beta])


def closure():
    opt.zero_grad()
    loss = cox_ph_loss(genes @ beta, months, died)
    loss.backward()
    return loss


if __name__ == "__main__":
    for _ in range(5):
        print(opt.step(closure).item())
