# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutants of a module: cosmic-ray's operators, and three more for rules that can be deleted without a trace."""

from __future__ import annotations

import ast
import difflib
import itertools
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass

import parso
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator
from parso.tree import BaseNode, NodeOrLeaf

Place = tuple[tuple[int, int], tuple[int, int]]


class _Rewriting(Operator):
    """An operator that replaces whole nodes by other code."""

    def replacements(self, node: NodeOrLeaf) -> list[tuple[NodeOrLeaf, str]]:
        """Which of a node's children become which code."""
        raise NotImplementedError

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Place]:
        for child, _code in self.replacements(node):
            yield child.start_pos, child.end_pos

    def mutate(self, node: BaseNode, index: int) -> BaseNode:
        child, code = self.replacements(node)[index]
        node.children[node.children.index(child)] = parso.parse(f"{child.get_first_leaf().prefix or ' '}{code}")
        return node

    @classmethod
    def examples(cls) -> t.Sequence[t.Any]:
        return ()


class ConditionDecided(_Rewriting):
    """A condition of if, elif, while, a conditional expression or a comprehension is always true, or always false."""

    def replacements(self, node: NodeOrLeaf) -> list[tuple[NodeOrLeaf, str]]:
        found: list[NodeOrLeaf] = []
        if node.type in ("if_stmt", "while_stmt"):
            found = [after for before, after in itertools.pairwise(node.children) if before.type == "keyword" and before.value in ("if", "elif", "while")]
        elif node.type in ("ternary", "test"):
            found = [node.children[2]]
        elif node.type == "comp_if":
            found = [node.children[1]]
        # A name that a condition binds is used where it holds.
        return [(one, word) for one in found if ":=" not in one.get_code() for word in ("True", "False")]


class OperandDropped(_Rewriting):
    """One operand of ``and`` or ``or`` is left out: it becomes the operation's neutral element."""

    def replacements(self, node: NodeOrLeaf) -> list[tuple[NodeOrLeaf, str]]:
        if node.type not in ("and_test", "or_test"):
            return []
        neutral = "True" if node.type == "and_test" else "False"
        return [(one, neutral) for one in node.children[::2] if ":=" not in one.get_code()]


class MembershipNegated(_Rewriting):
    """``in`` becomes ``not in``, and the other way round."""

    def replacements(self, node: NodeOrLeaf) -> list[tuple[NodeOrLeaf, str]]:
        if node.type != "comparison":
            return []
        other = {"in": "not in", "not in": "in"}
        return [(one, other[word]) for one in node.children[1::2] if (word := " ".join(one.get_code().split())) in other]


COMPARISONS = ("Lt_LtE", "Lt_Gt", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_Lt", "GtE_Gt", "GtE_Lt", "Eq_NotEq", "NotEq_Eq", "NotEq_Lt", "Is_IsNot", "IsNot_Is")
ARITHMETIC = ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Mul", "Mod_Mul", "BitOr_BitAnd", "BitAnd_BitOr")
# Of all operators those whose mutants are about a rule, a boundary or a number. Words of messages are not mutated.
OPERATORS: tuple[type[Operator], ...] = (
    ConditionDecided,
    OperandDropped,
    MembershipNegated,
    *(
        get_operator(f"core/{name}")
        for name in (
            *(f"ReplaceComparisonOperator_{pair}" for pair in COMPARISONS),
            *(f"ReplaceBinaryOperator_{pair}" for pair in ARITHMETIC),
            *("ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub"),
            *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
            *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer", "ZeroIterationForLoop"),
        )
    ),
)


@dataclass(frozen=True)
class Mutant:
    """A module with one change: the operator, the line's number, the line before and after, and the whole source."""

    operator: str
    line: int
    was: str
    becomes: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, in no order; those that differ in annotations only, or not at all, are left out."""
    seen = {_meaning(source)}
    for operator in OPERATORS:
        for occurrence in itertools.count():
            changed = mutate_code(source, operator(), occurrence)
            if changed is None:
                break
            meaning = _meaning(changed)
            if meaning in seen:
                continue
            seen.add(meaning)
            mutant = _mutant(operator.__name__, source, changed)
            # Whether a dataclass is frozen changes nothing that a correct program does.
            if not mutant.was.startswith("@dataclass"):
                yield mutant


def _mutant(operator: str, source: str, changed: str) -> Mutant:
    before, after = source.splitlines(), changed.splitlines()
    for tag, first, last, start, end in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            return Mutant(operator, first + 1, _joined(before[first:last]), _joined(after[start:end]), changed)
    raise AssertionError(f"{operator} changed nothing")


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines)


class _NoAnnotations(ast.NodeTransformer):
    """Annotations are not evaluated: all of them become one word."""

    def visit(self, node: ast.AST) -> ast.AST:
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, ast.Constant("any"))
        return super().generic_visit(node)


def _meaning(source: str) -> str:
    return ast.dump(_NoAnnotations().visit(ast.parse(source)))
