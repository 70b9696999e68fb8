# SPDX-License-Identifier: LGPL-2.1-or-later
"""The mutants of a C source: each is the source with one small mistake.

Not mutated are strings and what stands in the text of errors, log lines, assertions, prefetches and
preprocessor definitions: text for people, and what no test can see. An error that is no longer
reported is a mutant.
"""

import dataclasses
import difflib
import hashlib
import re

import tree_sitter
import tree_sitter_c

LANGUAGE = tree_sitter.Language(tree_sitter_c.language())

BINARY = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"],
    "<<": [">>"], ">>": ["<<"], "&": ["|"], "|": ["&"],
}
ASSIGNMENT = {
    "+=": ["-=", "="], "-=": ["+=", "="], "*=": ["/="], "/=": ["*="],
    "|=": ["&=", "="], "&=": ["|=", "="], "<<=": [">>="], ">>=": ["<<="],
}
UPDATE = {"++": ["--"], "--": ["++"]}

# Calls that stay as they are.
SILENT = re.compile(
    r"GST_(CAT_)?(LEVEL_)?(LOG|DEBUG|INFO|TRACE|WARNING)\w*|LOG|G_OBJECT_WARN_\w+|"
    r"(g_)?assert\w*|g_return_\w+|_Static_assert|__builtin_prefetch")
# Calls that may be deleted, but whose arguments stay.
TEXTS = re.compile(r"fault_set|fault_detail|GST_ELEMENT_(ERROR|WARNING)")

INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)")
FLOATING = re.compile(r"([0-9]*\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)([fFlL]?)")

# Types of functions.
BOOLEAN = re.compile(r"bool|gboolean")
NUMBER = re.compile(r"unsigned|(unsigned )?(int|long|short|char)|float|double|size_t|u?int\d+_t|"
                    r"g(int|uint|int64|uint64|int32|uint32|uint8|size|float|double)")
NEGATED = {"true": "false", "false": "true", "TRUE": "FALSE", "FALSE": "TRUE"}


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change: the bytes from `start` to `end` of the source become `text`."""

    path: str
    function: str
    line: int
    operator: str
    start: int
    end: int
    text: bytes
    before: str  # the lines that it touches, with single spaces
    after: str
    turn: int  # of several mutants that read alike in this function

    @property
    def identity(self):
        """By content, so that it outlives changes elsewhere in the file."""
        words = "\0".join([self.path, self.function, self.before, self.after, str(self.turn)])
        return hashlib.sha256(words.encode()).hexdigest()[:16]

    def apply(self, source):
        return source[:self.start] + self.text + source[self.end:]

    def diff(self, source):
        old, new = source.decode().split("\n"), self.apply(source).decode().split("\n")
        return "\n".join(difflib.unified_diff(old, new, self.path, self.path, lineterm="", n=0))


# Warnings that a mutant may deserve, but that a test, not the compiler, has to find.
WARNINGS = [
    "address", "aggressive-loop-optimizations", "array-bounds", "bool-compare", "bool-operation",
    "div-by-zero", "duplicate-decl-specifier", "format-overflow", "format-truncation",
    "implicit-fallthrough", "infinite-recursion", "int-in-bool-context", "logical-not-parentheses",
    "maybe-uninitialized", "nonnull", "overflow", "parentheses", "restrict", "sequence-point",
    "shift-count-negative", "shift-count-overflow", "shift-negative-value", "sign-compare",
    "sizeof-pointer-div", "stringop-overflow", "stringop-overread", "tautological-compare",
    "type-limits", "uninitialized", "unused-but-set-parameter", "unused-but-set-variable",
    "unused-const-variable", "unused-function", "unused-label", "unused-parameter", "unused-value",
    "unused-variable"]
PRAGMAS = " ".join(f'_Pragma("GCC diagnostic ignored \\"-W{name}\\"")' for name in WARNINGS)


def for_compiler(mutant, source):
    """The mutant as a source, without warnings in the place of the first line, a comment."""
    licence, rest = mutant.apply(source).split(b"\n", 1)
    if not (licence.startswith(b"/*") and licence.endswith(b"*/")):
        raise SystemExit(f"{mutant.path} does not begin with its licence in a line")
    return PRAGMAS.encode() + b"\n" + rest


def mutants_of(path, source):
    """All mutants of the source, in its order."""
    return _Finder(path, source).find()


class _Finder:
    def __init__(self, path, source):
        self.path = path
        self.source = source
        self.found = []
        self.seen = {}

    def find(self):
        tree = tree_sitter.Parser(LANGUAGE).parse(self.source)
        self.visit(tree.root_node, None)
        return self.found

    def text(self, node):
        return self.source[node.start_byte:node.end_byte].decode()

    def add(self, node, operator, replacement, function):
        # Lines keep their numbers.
        lost = self.source[node.start_byte:node.end_byte].count(b"\n") - replacement.count("\n")
        text = (replacement + "\n" * lost).encode()
        before, after = self.touched_lines(node, text)
        name = self.text(self.name_node(function)) if function else ""
        turn = self.seen.get((name, before, after), 0)
        self.seen[name, before, after] = turn + 1
        self.found.append(Mutant(
            self.path, name, node.start_point[0] + 1, operator, node.start_byte,
            node.end_byte, text, before, after, turn))

    def touched_lines(self, node, text):
        first = self.source.rfind(b"\n", 0, node.start_byte) + 1
        last = self.source.find(b"\n", node.end_byte)
        last = len(self.source) if last < 0 else last
        before = self.source[first:last]
        after = self.source[first:node.start_byte] + text + self.source[node.end_byte:last]
        return " ".join(before.decode().split()), " ".join(after.decode().split())

    def name_node(self, function):
        node = function.child_by_field_name("declarator")
        while node.type != "identifier":
            inner = node.child_by_field_name("declarator")
            if inner is None:
                break
            node = inner
        return node

    def called(self, node):
        """The name of the function or macro that a call or its statement calls, or ''."""
        if node.type == "expression_statement" and node.named_child_count == 1:
            node = node.named_children[0]
        if node.type != "call_expression":
            return ""
        return self.text(node.child_by_field_name("function"))

    def visit(self, node, function):
        if node.type in ("ERROR", "preproc_def", "preproc_function_def", "preproc_include",
                         "preproc_call", "type_definition", "comment"):
            return
        if node.type == "function_definition":
            function = node
        name = self.called(node)
        if SILENT.fullmatch(name):
            return
        mutate = getattr(self, "mutate_" + node.type, None)
        if mutate:
            mutate(node, function)
        if TEXTS.fullmatch(name):
            return
        condition = node.type in ("preproc_if", "preproc_elif")
        for child in node.named_children:
            if condition and child == node.child_by_field_name("condition"):
                continue
            if node.type == "array_declarator" and child == node.child_by_field_name("size"):
                continue
            self.visit(child, function)

    def mutate_operator(self, node, function, table, kind):
        operator = node.child_by_field_name("operator")
        for other in table.get(self.text(operator), []):
            self.add(operator, f"{kind}: {self.text(operator)} to {other}", other, function)

    def mutate_binary_expression(self, node, function):
        self.mutate_operator(node, function, BINARY, "operator")

    def mutate_assignment_expression(self, node, function):
        self.mutate_operator(node, function, ASSIGNMENT, "assignment")

    def mutate_update_expression(self, node, function):
        self.mutate_operator(node, function, UPDATE, "update")

    def negate(self, node, function):
        """Comparisons have an operator's mutant for that."""
        inner = node
        while inner.type == "parenthesized_expression":
            inner = inner.named_children[0]
        if inner.type == "binary_expression" and self.text(
                inner.child_by_field_name("operator")) in ("==", "!="):
            return
        self.add(inner, "condition negated", f"!({self.text(inner)})", function)

    def mutate_if_statement(self, node, function):
        self.negate(node.child_by_field_name("condition"), function)

    mutate_while_statement = mutate_if_statement
    mutate_conditional_expression = mutate_if_statement

    def mutate_number_literal(self, node, function):
        text = self.text(node)
        whole, real = INTEGER.fullmatch(text), FLOATING.fullmatch(text)
        if whole:
            digits, suffix = whole.groups()
            hexadecimal = digits.lower().startswith("0x")
            value = int(digits, 0 if hexadecimal else 10)
            for other in (value + 1, value - 1):
                if other >= 0:
                    digits = hex(other) if hexadecimal else str(other)
                    self.add(node, f"constant: {text} to {digits}{suffix}", digits + suffix,
                             function)
        elif real:
            other = f"{float(real[1]) + 1:.17g}"
            other += ("" if "." in other or "e" in other else ".0") + real[2]
            self.add(node, f"constant: {text} to {other}", other, function)

    def delete(self, node, function):
        if function:
            self.add(node, "statement deleted", "{}", function)

    def mutate_expression_statement(self, node, function):
        if node.named_child_count == 1:  # of those that are not empty already
            self.delete(node, function)

    mutate_break_statement = delete

    mutate_continue_statement = mutate_break_statement
    mutate_goto_statement = mutate_break_statement

    def mutate_return_statement(self, node, function):
        if function is None:
            return
        if node.named_child_count == 0:
            self.delete(node, function)
            return
        value = node.named_children[0]
        text = self.text(value)
        for kind, other in self.other_values(function, text):
            if other != text:
                self.add(value, f"returned value: {kind}", other, function)

    def other_values(self, function, text):
        kind = self.text(function.child_by_field_name("type"))
        if function.child_by_field_name("declarator").type == "pointer_declarator":
            return [("NULL", "NULL")]
        if BOOLEAN.fullmatch(kind):
            return [("negated", NEGATED.get(text, f"!({text})"))]
        if NUMBER.fullmatch(kind):
            return [("0", "0"), ("plus 1", f"({text}) + 1")]
        return []
