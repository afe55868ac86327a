def burgers_residual(u, u_t, u_x, u_xx, nu=0.01):
    """Mean squared residual of u_t + u u_x = nu u_xx at the collocation points."""
    f = u_t + u * u_x - nu * u_xx
    return f.pow(2).mean()
