"""What evaluates each kind of expression."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepcore.frontend.expressions.arithmetic import evaluate_binary, evaluate_unary
from stepcore.frontend.expressions.attributes import evaluate_attribute
from stepcore.frontend.expressions.comprehensions import evaluate_comprehension, evaluate_starred
from stepcore.frontend.expressions.conditions import evaluate_bool, evaluate_compare, evaluate_conditional
from stepcore.frontend.expressions.functions import evaluate_call, evaluate_lambda, evaluate_walrus
from stepcore.frontend.expressions.literals import evaluate_dict, evaluate_list, evaluate_tuple
from stepcore.frontend.expressions.names import evaluate_constant, evaluate_name
from stepcore.frontend.expressions.subscripts import evaluate_subscript
from stepcore.frontend.expressions.texts import evaluate_formatted
from stepcore.frontend.values import Value

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


HANDLERS: dict[type[ast.expr], Callable[[Elaboration, Any], Value]] = {
    ast.Constant: evaluate_constant,
    ast.Name: evaluate_name,
    ast.Tuple: evaluate_tuple,
    ast.List: evaluate_list,
    ast.Dict: evaluate_dict,
    ast.Attribute: evaluate_attribute,
    ast.Subscript: evaluate_subscript,
    ast.Call: evaluate_call,
    ast.BinOp: evaluate_binary,
    ast.UnaryOp: evaluate_unary,
    ast.Compare: evaluate_compare,
    ast.BoolOp: evaluate_bool,
    ast.IfExp: evaluate_conditional,
    ast.NamedExpr: evaluate_walrus,
    ast.Lambda: evaluate_lambda,
    ast.JoinedStr: evaluate_formatted,
    ast.Starred: evaluate_starred,
    ast.ListComp: evaluate_comprehension,
    ast.GeneratorExp: evaluate_comprehension,
}
