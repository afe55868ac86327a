# An f-string in f-strings.
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N
x = f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{f'{1}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'}'
