import torch


def norm_cdf(x):
    return 0.5 * (1 + torch.erf(x / 2 ** 0.5))


def black_scholes_call(S, K, T, sigma, r=0.01):
    d1 = (torch.log(S / K) + (r + 0.5 * sigma ** 2) * T) / (sigma * torch.sqrt(T))
    d2 = d1 - sigma * torch.sqrt(T)
    return S * norm_cdf(d1) - K * torch.exp(-r * T) * norm_cdf(d2)


def main():
    n = 41
    S = torch.linspace(80.0, 120.0, n)
    K = torch.full((n,), 100.0)
    T = torch.full((n,), 0.5)
    sigma = 0.1 + 0.2 * torch.rand(n)
    for s, p in zip(S, black_scholes_call(S, K, T, sigma)):
        print(f"{s:.1f} {p:.3f}")


if __name__ == "__main__":
    main()
