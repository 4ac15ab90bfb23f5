"""The formats that points are exported to, field by field, and a small validator for the words used
here.

The fields are those that the systems document; what is not among them is refused, and so is a field
that is left out although the system needs it, or although we promise it.  ``most`` names a field
that a number may not exceed.
"""

NUMBER = {"type": "number"}
POINTS = {"type": "number", "minimum": 0}
TEXT = {"type": "string"}
NAME = {"type": "string", "nonempty": True}
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}


def record(required, optional=(), **fields):
    """Return the schema of an object with these fields and no others."""
    assert set(required) | set(optional) == set(fields)
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": fields,
    }


def listed(items, **more):
    """Return the schema of an array."""
    return {"type": "array", "items": items, **more}


# https://gradescope-autograders.readthedocs.io/en/latest/specs/: "score" overrides the sum of the
# tests.
GRADESCOPE = record(
    ["output", "output_format", "visibility", "stdout_visibility", "extra_data"],
    ["score", "execution_time", "tests", "test_output_format", "test_name_format", "leaderboard"],
    score=POINTS,
    execution_time=POINTS,
    output=NAME,
    output_format=FORMAT,
    test_output_format=FORMAT,
    test_name_format=FORMAT,
    visibility=VISIBILITY,
    stdout_visibility=VISIBILITY,
    extra_data={"type": "object"},
    leaderboard=listed(
        record(
            ["name", "value"], ["order"], name=NAME, value=NUMBER, order={"enum": ["asc", "desc"]}
        )
    ),
    tests=listed(
        record(
            [
                "score",
                "max_score",
                "status",
                "name",
                "number",
                "output",
                "output_format",
                "visibility",
            ],
            ["name_format", "tags", "extra_data"],
            score={**POINTS, "most": "max_score"},
            max_score=POINTS,
            status={"enum": ["passed", "failed"]},
            name=NAME,
            name_format=FORMAT,
            number=NAME,
            output=TEXT,
            output_format=FORMAT,
            tags=listed(TEXT),
            visibility=VISIBILITY,
            extra_data={"type": "object"},
        ),
        nonempty=True,
    ),
)
SCHEMAS = {"gradescope": GRADESCOPE}
# The columns of the tables, in order, and which of them hold numbers where they are filled in.
NBGRADER = {
    "assignment": "",
    "duedate": "",
    "timestamp": "",
    "student_id": "",
    "last_name": "",
    "first_name": "",
    "email": "",
    "raw_score": "number",
    "late_submission_penalty": "number",
    "score": "number",
    "max_score": "number",
}
MOODLE = {
    "Full name": "",
    "Identifier": "",
    "Email address": "",
    "Status": "",
    "Grade": "number",
    "Maximum grade": "number",
    "Grade can be changed": "",
    "Last modified (submission)": "",
    "Last modified (grade)": "",
}
TYPES = {"object": dict, "array": list, "string": str, "number": (int, float)}


def errors(value, schema, place="$"):
    """Return what in a value does not fit a schema, as a list of sentences."""
    if "enum" in schema:
        return (
            [] if value in schema["enum"] else [f"{place}: {value!r} is none of {schema['enum']}"]
        )
    if not isinstance(value, TYPES[schema["type"]]) or (
        schema["type"] == "number" and isinstance(value, bool)
    ):
        return [f"{place}: {value!r} is no {schema['type']}"]
    found = [f"{place}: is empty"] if schema.get("nonempty") and not value else []
    if schema["type"] == "number":
        low = schema.get("minimum", float("-inf"))
        found += [] if low <= value else [f"{place}: {value} is less than {low}"]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [
            f"{place}: {key} is missing" for key in schema.get("required", ()) if key not in value
        ]
        if schema.get("additionalProperties", True) is False:
            found += [f"{place}: {key} is unknown" for key in value if key not in properties]
        for key, item in value.items():
            if key in properties:
                wanted = properties[key]
                found += errors(item, wanted, f"{place}.{key}")
                if "most" in wanted and not found and item > value[wanted["most"]]:
                    found.append(f"{place}.{key}: {item} is more than {wanted['most']}")
    if isinstance(value, list) and "items" in schema:
        for at, item in enumerate(value):
            found += errors(item, schema["items"], f"{place}[{at}]")
    return found
