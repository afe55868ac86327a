"""Routing: each token goes to the expert of its selector, and the results come back in the order of the tokens."""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, E, M

TOKEN = step.Buffer(step.f32, [D])
SELECTOR = step.Multihot(step.f32, E)


@step.fn(input=TOKEN, output=SELECTOR)
def route(input):
    scores = input[0][:3]
    return [(scores == torch.max(scores)).to(torch.float32)]


@step.fn(input=TOKEN, output=TOKEN)
def keep(input):
    return [input[0]]


@step.fn(input=TOKEN, output=TOKEN)
def rectify(input):
    return [torch.relu(input[0])]


@step.fn(input=TOKEN, output=TOKEN)
def halve(input):
    return [input[0] / 2]


@step.fn(input=TOKEN, output=TOKEN, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def reference(x: torch.Tensor) -> torch.Tensor:  # x: (M, D)
    experts = torch.stack([x, torch.relu(x), x / 2])  # (3, M, D)
    chosen = x[:, :3].argmax(-1)
    return experts[chosen, torch.arange(len(x))]


@step.program(reference=reference, dims={M: 5, D: 16, E: 3})
def mixture_of_experts(tokens: Annotated[step.Stream, TOKEN, (M,)]) -> Annotated[step.Stream, TOKEN, (M,)]:
    routed, data = step.Copy().apply(tokens)
    splits, joins = step.Copy().apply(step.Map(fn=route).apply(routed))
    branches = step.Partition(N=3).apply((data, splits))
    experts = (keep, rectify, halve)
    results = [step.Map(fn=expert).apply(branch) for expert, branch in zip(experts, branches, strict=True)]
    return step.Merge(fn=add).apply((results, joins))
