"""Recurrent layers by their definitions: a loop over time for each layer and direction. Loads torch.

Rolled it is one round between marks (:mod:`loop_ops`), otherwise all rounds one after the other. PyTorch would call a
kernel that no table of ours knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor

from stepagents.torchfn import loop_ops

# From the projections of the input and of the state, each with its bias, and the states: the new states.
Cell: TypeAlias = Callable[[Tensor, Tensor, Sequence[Tensor]], list[Tensor]]


def _plain(activation: Callable[[Tensor], Tensor]) -> Cell:
    return lambda given, kept, _states: [activation(given + kept)]


def _lstm(given: Tensor, kept: Tensor, states: Sequence[Tensor]) -> list[Tensor]:
    into, forget, new, out = (given + kept).chunk(4, -1)
    cell = torch.sigmoid(forget) * states[1] + torch.sigmoid(into) * torch.tanh(new)
    return [torch.sigmoid(out) * torch.tanh(cell), cell]


def _gru(given: Tensor, kept: Tensor, states: Sequence[Tensor]) -> list[Tensor]:
    (given_reset, given_update, given_new), (reset, update, new) = given.chunk(3, -1), kept.chunk(3, -1)
    update = torch.sigmoid(given_update + update)
    new = torch.tanh(given_new + torch.sigmoid(given_reset + reset) * new)
    return [new + update * (states[0] - new)]


def _step(cell: Cell, item: Tensor, before: Sequence[Tensor], weights: Sequence[Tensor]) -> list[Tensor]:
    """Return the states after one step.

    ``weights`` are those of input and state and, where there are biases, both of them; a further one projects the
    output.
    """
    is_projected = len(weights) in (3, 5)
    after = _applied(cell, item, before, *weights[: len(weights) - is_projected])
    if is_projected:
        after[0] = torch.nn.functional.linear(after[0], weights[-1])
    return after


def _applied(
    cell: Cell,
    item: Tensor,
    before: Sequence[Tensor],
    of_input: Tensor,
    of_state: Tensor,
    input_bias: Tensor | None = None,
    state_bias: Tensor | None = None,
) -> list[Tensor]:
    given = torch.nn.functional.linear(item, of_input, input_bias)
    kept = torch.nn.functional.linear(before[0], of_state, state_bias)
    return cell(given, kept, before)


def _layer(
    cell: Cell, value: Tensor, states: Sequence[Tensor], weights: Sequence[Tensor], *, backwards: bool, rolled: bool
) -> tuple[Tensor, list[Tensor]]:
    """Run one direction of one layer over ``value`` (time, batch, features); return its outputs and last states."""
    if not rolled:
        after, found = list(states), []
        for item in reversed(value.unbind(0)) if backwards else value.unbind(0):
            after = _step(cell, item, after, weights)
            found.append(after[0])
        return torch.stack(found[::-1] if backwards else found), after
    before = [loop_ops.STATE(state) for state in states]
    after = _step(cell, loop_ops.round_of(value, 0, backwards=backwards), before, weights)
    last, (outputs,) = loop_ops.finish(value.shape[0], before, after, after[:1])
    return outputs.flip(0) if backwards else outputs, last


def _network(
    cell: Cell,
    rolled: bool,
    value: Tensor,
    first: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """Run all layers; ``first`` are the states before the first step, (layers * directions, batch, features) each."""
    directions = 2 if bidirectional else 1
    width = len(params) // (layers * directions)
    value = value.transpose(0, 1) if batch_first else value
    lasts: list[list[Tensor]] = []
    for layer in range(layers):
        outputs: list[Tensor] = []
        for direction in range(directions):
            number = layer * directions + direction
            weights = params[number * width : (number + 1) * width]
            before = [state[number] for state in first]
            output, last = _layer(cell, value, before, weights, backwards=direction == 1, rolled=rolled)
            outputs.append(output)
            lasts.append(last)
        value = torch.cat(outputs, -1) if len(outputs) > 1 else outputs[0]
        if dropout and train and layer < layers - 1:
            value = torch.dropout(value, dropout, True)
    value = value.transpose(0, 1) if batch_first else value
    return value, *(torch.stack(states) for states in zip(*lasts, strict=True))


def _single(activation: Cell) -> Callable[..., Any]:
    return lambda rolled, value, first, *rest: _network(activation, rolled, value, [first], *rest)


def _pair(rolled: bool, value: Tensor, first: Sequence[Tensor], *rest: Any) -> tuple[Tensor, ...]:
    return _network(_lstm, rolled, value, first, *rest)


def _one_cell(cell: Cell) -> Callable[..., Any]:
    """Return one step of one layer; with a single state that is the result."""

    def run(_rolled: bool, value: Tensor, states: Any, *weights: Any) -> Any:
        after = _applied(cell, value, [states] if isinstance(states, Tensor) else states, *weights)
        return after[0] if isinstance(states, Tensor) else tuple(after)

    return run


# The decompositions of the cells write each gate into its place of one tensor.
LAYERS: Final[dict[Any, Callable[..., Any]]] = {
    torch.ops.aten.rnn_tanh.input: _single(_plain(torch.tanh)),
    torch.ops.aten.rnn_relu.input: _single(_plain(torch.relu)),
    torch.ops.aten.gru.input: _single(_gru),
    torch.ops.aten.lstm.input: _pair,
    torch.ops.aten.rnn_tanh_cell.default: _one_cell(_plain(torch.tanh)),
    torch.ops.aten.rnn_relu_cell.default: _one_cell(_plain(torch.relu)),
    torch.ops.aten.gru_cell.default: _one_cell(_gru),
    torch.ops.aten.lstm_cell.default: _one_cell(_lstm),
}
