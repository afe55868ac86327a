"""Puts one round of a loop into a traced graph in the place of all of them. Loads torch."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

import torch
from torch.fx import Graph, Node

from stepagents.torchfn.loop_ops import END, ITEM, STATE
from stepagents.torchfn.rolling.rows import SELECT, SLICE, Form, Generaliser, NoLoop, RoundRow

_CAT: Final[Any] = torch.ops.aten.cat.default


class Rewriting:
    """Puts one round into the graph, behind the row that it replaces."""

    def __init__(self, graph: Graph, row: RoundRow) -> None:
        self._graph = graph
        self._row = row
        self._order = {node: place for place, node in enumerate(graph.nodes)}
        self._end_of_row = self._order[row.rounds[-1][-1]]
        self._own: dict[int, Node] = {}  # the node of the round at an offset
        self._states: dict[tuple[int, int], Node] = {}
        self._made: dict[int, Node] = {}
        self._stacks: dict[Node, Node] = {}
        self._written = row.written

    def rewrite(self) -> None:
        """Make the round, and give its results to whoever reads those of the row."""
        row, graph = self._row, self._graph
        gathered = list(self._gathered())
        behind = row.rounds[-1][-1].next
        with graph.inserting_before(behind):
            for (offset, lag), first in self._carried():
                self._states[offset, lag] = self._call(STATE, (first,), first)
            for offset in range(len(row.rounds[0])):
                if offset not in self._written:
                    self._own[offset] = self._round(offset)
            taken = [self._made_of(form) for _, form, _ in gathered]
            writes = {offset: self._made_of(row.forms[offset][1]) for offset in self._written}
            self._finish()
            for offset, node in writes.items():
                self._replace(row.rounds[-1][offset], self._all_written(offset, self._stack(node)))
        for (cat, _, window), node in zip(gathered, taken, strict=True):
            self._put_together(cat, window, self._stack(node))
        self._erase_unread()
        with graph.inserting_before(behind):
            self._give_singles()
        for node in reversed([node for each in row.rounds for node in each]):
            graph.erase_node(node)

    def _carried(self) -> Iterator[tuple[tuple[int, int], Node]]:
        """Yield what is carried from round to round: (offset, lag) and what the first round gets."""
        for (offset, lag), first in self._row.firsts.items():
            if offset not in self._written:
                yield (offset, lag), first

    def _call(self, target: Any, args: tuple[Any, ...], like: Node, kwargs: dict[str, Any] | None = None) -> Node:
        """Return a new node with the value and the line of ``like``."""
        node = self._graph.call_function(target, args, kwargs or {})
        node.meta = {key: like.meta[key] for key in ("val", "custom") if key in like.meta}
        return node

    def _round(self, offset: int) -> Node:
        node, forms = self._row.rounds[0][offset], self._row.forms[offset]
        if len(forms) == 1 and forms[0][0] == "item":
            return self._item(forms[0], node)
        return self._copied(node, forms)

    def _copied(self, node: Node, forms: Sequence[Form]) -> Node:
        found = iter([form[1] if form[0] == "value" else self._made_of(form) for form in forms])
        args = torch.utils._pytree.tree_map(lambda _: next(found), list(node.args), is_leaf=_is_leaf)
        kwargs = torch.utils._pytree.tree_map(lambda _: next(found), dict(node.kwargs), is_leaf=_is_leaf)
        return self._call(node.target, tuple(args), node, kwargs)

    def _item(self, form: Form, node: Node) -> Node:
        _, base, dim, start, step, width = form
        found = self._call(ITEM, (base, dim, start, step), node)
        if width == 0:
            return found
        found.meta["val"] = node.meta["val"].squeeze(dim)
        return self._call(torch.ops.aten.unsqueeze.default, (found, dim), node)

    def _made_of(self, form: Form) -> Node:
        """Return the node of the round that ``form`` describes."""
        match form[0]:
            case "same":
                return form[1]  # type: ignore[no-any-return]
            case "in":
                return self._own[form[1]]
            case "carry":
                return self._states[form[1], form[2]]
        if id(form) not in self._made:
            like = self._row_like(form)
            self._made[id(form)] = self._item(form, like) if form[0] == "item" else self._copied(like, form[2])
        return self._made[id(form)]

    def _row_like(self, form: Form) -> Node:
        if form[0] == "op":
            return form[1]  # type: ignore[no-any-return]
        _, base, dim, start, _, width = form
        like = self._graph.call_function(SELECT, (base, dim, start))
        value = base.meta["val"].select(dim, 0)
        like.meta = {"val": value.unsqueeze(dim) if width else value}
        return like

    def _finish(self) -> None:
        """End the loop, with the last states as results."""
        states = list(self._states.items())
        updates = [self._own[offset] if lag == 1 else self._states[offset, lag - 1] for (offset, lag), _ in states]
        kept = [state for _, state in states]
        self._end = self._graph.call_function(END, (len(self._row.rounds), kept, updates, []))
        self._end.meta = {"val": [node.meta["val"] for node in updates]}
        self._end.meta |= {key: value for key, value in self._row.rounds[0][0].meta.items() if key == "custom"}
        self._tail = self._end
        self._lasts = {key: place for place, (key, _) in enumerate(states)}

    def _taken(self, place: int) -> Node:
        """Return one of the results of the loop."""
        with self._graph.inserting_after(self._tail):
            self._tail = self._graph.call_function(operator.getitem, (self._end, place))
        self._tail.meta = {**self._end.meta, "val": self._end.meta["val"][place]}
        return self._tail

    def _stack(self, node: Node) -> Node:
        """Return what ``node`` is in all rounds, on top of each other."""
        if node not in self._stacks:
            count, states, updates, results = self._end.args
            self._end.args = (count, states, updates, [*results, node])  # type: ignore[misc]
            value = node.meta["val"]
            self._end.meta["val"] = [*self._end.meta["val"], value.new_empty((count, *value.shape))]
            self._stacks[node] = self._taken(len(self._end.meta["val"]) - 1)
        return self._stacks[node]

    # --- who reads the row -----------------------------------------------------------------------------------------

    def _users(self, node: Node) -> list[Node]:
        return [user for user in node.users if user not in self._row.where]

    def _replace(self, node: Node, other: Node) -> None:
        users = self._users(node)
        node.replace_all_uses_with(other, delete_user_cb=lambda user: user in users)

    def _gathered(self) -> Iterator[tuple[Node, Form, tuple[int, bool]]]:
        """Yield concatenations that take one node (or what is computed from it) of each round: the form, and where."""
        seen: dict[Node, None] = {}
        stack = [user for node in self._row.where for user in self._users(node)]
        while stack:
            user = stack.pop()
            if user in seen or user.op != "call_function":
                continue
            seen[user] = None
            if user.target is not _CAT and len(user.all_input_nodes) == 1:
                stack += user.users
        count = len(self._row.rounds)
        for cat in sorted((node for node in seen if node.target is _CAT), key=self._order.__getitem__):
            args: Any = cat.args[0]
            found = (
                (cat, form, (start, backwards))
                for start in range(len(args) - count + 1)
                for backwards in (False, True)
                if (form := self._form_of(list(args[start : start + count])[:: -1 if backwards else 1])) is not None
            )
            yield from islice(found, 1)

    def _erase_unread(self) -> None:
        """Take out what was computed from the rounds for a concatenation that reads all of them now."""
        for node in reversed(list(self._graph.nodes)):
            is_unread = node.op == "call_function" and not node.users and node.target is not END
            reads_row = any(each in self._row.where for each in node.all_input_nodes)
            if is_unread and reads_row and node not in self._row.where:
                self._graph.erase_node(node)

    def _give_singles(self) -> None:
        """Give the last states, and the results of single rounds, to who reads no more than those."""
        row = self._row
        for node, (number, offset) in row.where.items():
            if not self._users(node):
                continue
            if number == len(row.rounds) - 1 and (offset, 1) in self._lasts:
                self._replace(node, self._taken(self._lasts[offset, 1]))
            else:
                self._replace(node, self._call(SELECT, (self._stack(self._own[offset]), 0, number), node))

    def _form_of(self, window: list[Node]) -> Form | None:
        finder = Generaliser(self._row.rounds, self._row.where)
        try:
            form = finder.outside(window, 0)
        except NoLoop:
            return None
        return form if form[0] == "in" or (form[0] == "op" and self._is_early(form)) else None

    def _is_early(self, form: Form) -> bool:
        """Whether all that ``form`` takes from outside stands before the round will."""
        if form[0] == "op":
            return all(map(self._is_early, form[2]))
        return form[0] in ("in", "value") or (form[0] in ("same", "item") and self._order[form[1]] < self._end_of_row)

    def _put_together(self, cat: Node, window: tuple[int, bool], stack: Node) -> None:
        """Read the results of all rounds where ``cat`` takes them one by one."""
        start, backwards = window
        count = len(self._row.rounds)
        args: Any = cat.args[0]
        dim: Any = cat.args[1] if len(cat.args) > 1 else 0
        value = stack.meta["val"]
        dim %= value.dim() - 1
        with self._graph.inserting_before(cat):
            if backwards:
                stack = self._call(torch.ops.aten.flip.default, (stack, [0]), stack)
            if dim:
                stack = self._moved(stack, dim)
                value = stack.meta["val"]
            shape = list(value.shape)
            shape[dim : dim + 2] = [shape[dim] * shape[dim + 1]]
            merged = self._call(torch.ops.aten.view.default, (stack, shape), stack)
            merged.meta["val"] = value.new_empty(shape)
            rest = [*args[:start], merged, *args[start + count :]]
            if len(rest) == 1:
                cat.replace_all_uses_with(merged)
            else:
                cat.args = (rest, *cat.args[1:])

    # --- results that are written into a tensor --------------------------------------------------------------------

    def _all_written(self, offset: int, stack: Node) -> Node:
        """Return the tensor into which all rounds have written."""
        start, step = self._written[offset]
        node, count = self._row.rounds[0][offset], len(self._row.rounds)
        dim: Any = node.args[2]
        dim %= stack.meta["val"].dim()
        if step < 0:
            stack, start = self._call(torch.ops.aten.flip.default, (stack, [0]), stack), start - count + 1
        stack = self._moved(stack, dim)
        first, size = self._row.firsts[offset, 1], node.meta["val"].shape[dim]
        before, after = (self._part(first, dim, *ends) for ends in ((0, start), (start + count, size)))
        parts = [*before, stack, *after]
        return stack if len(parts) == 1 else self._call(_CAT, (parts, dim), node)

    def _moved(self, stack: Node, dim: int) -> Node:
        """Return ``stack`` with its first dimension, that of the rounds, in place ``dim``."""
        value = stack.meta["val"]
        order = [*range(1, dim + 1), 0, *range(dim + 1, value.dim())]
        found = self._call(torch.ops.aten.permute.default, (stack, order), stack)
        found.meta["val"] = value.permute(order)
        return found

    def _part(self, tensor: Node, dim: int, low: int, high: int) -> list[Node]:
        """Return the places from ``low`` to ``high``, nothing where there are none."""
        if low == high:
            return []
        found = self._call(SLICE, (tensor, dim, low, high), tensor)
        found.meta["val"] = tensor.meta["val"].narrow(dim, low, high - low)
        return [found]


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, (list, tuple, dict))
