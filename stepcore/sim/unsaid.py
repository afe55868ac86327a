"""What a verdict on values that are right is not worth, and further data that such a program has to be right on.

The one place where the examination of a task (:mod:`stepcore.sim.strength`), the conditions of a program
(:mod:`stepcore.sim.coverage`) and what is drawn as ones or zeros become one answer, for whatever runs programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Comparison, Untested, UntestedCondition
from stepcore.records import Record
from stepcore.sim.conditions import Noting
from stepcore.sim.coverage import Coverage, Note, Run, Wrong
from stepcore.sim.overflow import WholeNumbers
from stepcore.sim.strength import Recipe, Strength, examine_world, is_fixed, not_on, redraw
from stepcore.sim.stretched import Results, Stretched
from stepcore.sim.world import World

_MOVED = Recipe(6197)


class Runs(Record):
    """The ways to run a program: ``compare`` it with its reference, ``note`` its conditions, return its ``results``.

    All raise :class:`SimError` where it fails.
    """

    compare: Run
    note: Note
    results: Results


class Said(Record):
    """What is said of a program that is right on the data drawn: that it is ``wrong`` on others, or ``untested``."""

    wrong: Wrong | None = None
    untested: Untested | None = None


@dataclass(slots=True)
class Examined:
    """The examination of one task on the data of ``world``, which are in fp64."""

    world: World
    strength: Strength
    coverage: Coverage
    stretched: Stretched
    whole: WholeNumbers
    _moved: dict[tuple[str, ...], World | None] = field(default_factory=dict)

    @staticmethod
    def of(world: World) -> Examined:
        """Examine a task; its reference runs a few times."""
        noting = Noting(world.drawn, world.limits, python=world.python)
        with world.noted(noting):
            strength = examine_world(world, noting)
        stretched = Stretched(world, strength.work, noting)
        whole = WholeNumbers(world, strength.work)
        return Examined(world, strength, Coverage(world, noting, strength.work), stretched, whole)

    @property
    def fixed(self) -> tuple[str, ...]:
        """Inputs and parameters on which results depend, and which are all ones or zeros by how they are drawn."""
        ports = self.world.ports
        return tuple(name for name in self.world.drawn if name in self.strength.used and is_fixed(ports[name]))

    def concerns(self, decides: bool) -> bool:
        """Whether there is anything to look at for a program that holds conditions or not (``decides``)."""
        return decides or self.coverage.decides or bool(self.fixed)

    def say(
        self,
        drawn: World,
        program: Runs,
        known: Untested | None,
        *,
        decides: bool,
        recipes: Sequence[Recipe],
        counts: bool,
        halves: bool,
    ) -> Said:
        """Say what the verdict on a program is worth, see :meth:`Coverage.judge`.

        ``known`` is what the examination of the task leaves open, ``decides`` whether the program may hold conditions,
        ``recipes`` are the data on which it may differ from the reference without one
        (:mod:`stepcore.sim.suspected`), ``counts`` tells whether either computes with whole numbers of data, and
        ``halves`` whether the program may hold numbers in fp16.

        Raises:
            SimError: it fails on data on which the reference does not.
        """
        untested = known or Untested()
        conditions = untested.conditions
        if decides or self.coverage.decides:
            covered = self.coverage.judge(drawn, program.compare, program.note)
            if covered.wrong is not None:
                return Said(covered.wrong)
            conditions = (*conditions, *covered.conditions)
        if recipes:
            unlike = self.stretched.judge(drawn, program.results, lambda: program.note(drawn), recipes)
            if unlike is not None:
                return Said(Wrong(not_on(unlike.recipe.text), unlike.found))
        if counts:
            conditions = (*self.whole.notes(drawn, program.results), *conditions)
        beyond = self.stretched.overflow(drawn, program.results) if halves else None
        if beyond is not None:
            note = f"with {beyond.text}, this program is wrong: a number leaves fp16, and the reference is finite"
            conditions = (*conditions, UntestedCondition(note))
        fixed = self._needed(program.compare)
        return Said(None, Untested(untested.inputs, untested.outputs, fixed, conditions).or_none())

    def _needed(self, run: Run) -> tuple[str, ...]:
        """Return those of :attr:`fixed` for whose numbers, as they are drawn, alone the program is right."""
        names = self.fixed
        if not names or self._is_right(names, run):
            return ()
        return tuple(name for name in names if not self._is_right((name,), run))

    def _is_right(self, names: tuple[str, ...], run: Run) -> bool:
        if names not in self._moved:
            self._moved[names] = self._with_moved(names)
        world = self._moved[names]
        if world is None:
            return True
        try:
            found: Comparison = run(world)
        except SimError:
            return True  # no data that a program gets: what fails there is not judged
        return found.ok

    def _with_moved(self, names: tuple[str, ...]) -> World | None:
        now = self.world.drawn
        ports, bindings = self.world.ports, self.world.bindings
        with torch.inference_mode():
            moved = {name: redraw(ports[name], now[name], bindings, _MOVED, alone=True) for name in names}
            world = self.world.varied({**now, **moved})
        try:
            world.references()
        except SimError:
            return None
        return world
