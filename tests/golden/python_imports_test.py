#!/usr/bin/env python3
"""Modules of the Python package import each other in no circle, also where a function imports: each can be read, and tested,
before what uses it. (Imports for annotations alone, under TYPE_CHECKING, name classes and run nothing.)

Usage: python_imports_test.py CHECKOUT
"""

import ast
import pathlib
import sys


def imports_of(body, modules):
    """Names of the package's modules that statements import, whenever they run."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [node.module.split(".")[0]] if node.module else [each.name for each in node.names]
            yield from (name for name in names if name in modules)
        yield from imports_of(ast.iter_child_nodes(node), modules)


def circle_from(name, graph, path):
    """The first circle that is found from a module on, as a list of names; None: there is none."""
    if name in path:
        return [*path[path.index(name):], name]
    return next((found for other in sorted(graph[name]) if (found := circle_from(other, graph, [*path, name]))), None)


def main():
    package = pathlib.Path(sys.argv[1]) / "src/bindings/python/work_queue"
    texts = {path.stem: ast.parse(path.read_text()) for path in package.glob("*.py")}
    graph = {name: set(imports_of(tree.body, texts)) for name, tree in texts.items()}
    if sum(map(len, graph.values())) < 50:
        sys.exit(f"{package} has hardly any imports: wrong folder?")
    assert circle_from("a", {"a": {"b"}, "b": {"c"}, "c": {"b"}}, []) == ["b", "c", "b"]
    for name in sorted(graph):
        if found := circle_from(name, graph, []):
            sys.exit("a circle of imports: " + " -> ".join(found))


if __name__ == "__main__":
    main()
