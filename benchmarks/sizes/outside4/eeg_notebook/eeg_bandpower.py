#!/usr/bin/env python
# coding: utf-8

# # Band power features

# In[1]:


import torch


# In[2]:


def band_power(eeg, fs=128.0, low=8.0, high=12.0):
    n = eeg.shape[-1]
    power = torch.fft.rfft(eeg).abs().square() / n
    freqs = torch.fft.rfftfreq(n, d=1 / fs)
    keep = ((freqs >= low) & (freqs <= high)).to(power.dtype)
    return torch.log1p((power * keep).sum(-1))


# In[3]:


n_trials, n_channels, n_times = 20, 14, 256
eeg = torch.randn(n_trials, n_channels, n_times)
alpha = band_power(eeg)
alpha.shape  # (20, 14)
