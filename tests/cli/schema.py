#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema.py SCHEMA FILE...: validates JSON documents against the schema. Implements only the keywords of JSON Schema
that cli/report.schema.json uses."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
         "null": type(None)}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "required", "properties", "additionalProperties",
         "items", "enum", "const", "pattern", "minItems", "maxItems"}


def is_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def check(value, rule, root, at):
    unknown = set(rule) - KNOWN
    assert not unknown, f"the schema has what this test does not know: {unknown}"
    if "$ref" in rule:
        rule = root["$defs"][rule["$ref"].rsplit("/", 1)[1]]
    types = rule.get("type", [])
    types = [types] if isinstance(types, str) else types
    assert not types or any(is_type(value, t) for t in types), f"{at}: {value!r} is no {types}"
    assert "const" not in rule or value == rule["const"], f"{at}: {value!r} is not {rule['const']!r}"
    assert "enum" not in rule or value in rule["enum"], f"{at}: {value!r} is none of {rule['enum']}"
    assert "pattern" not in rule or re.search(rule["pattern"], value), f"{at}: {value!r}"
    if isinstance(value, dict):
        for name in rule.get("required", []):
            assert name in value, f"{at}: has no {name}"
        for name, member in value.items():
            inner = rule.get("properties", {}).get(name, rule.get("additionalProperties", {}))
            check(member, inner, root, f"{at}.{name}")
    if isinstance(value, list):
        assert rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", 1 << 30), f"{at}: {len(value)} items"
        for i, item in enumerate(value):
            check(item, rule.get("items", {}), root, f"{at}[{i}]")


def main():
    schema = json.load(open(sys.argv[1]))
    for path in sys.argv[2:]:
        check(json.loads(open(path, "rb").read().decode("utf-8")), schema, schema, path)


try:
    main()
except (AssertionError, ValueError) as why:
    sys.exit(str(why))
