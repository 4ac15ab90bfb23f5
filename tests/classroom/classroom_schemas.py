"""The formats that points are exported to, as JSON schemas, and a small validator for the words used here."""

NUMBER, TEXT, FLAG = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}

GRADESCOPE = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "score": NUMBER, "execution_time": NUMBER, "output": TEXT, "output_format": FORMAT,
        "test_output_format": FORMAT, "test_name_format": FORMAT,
        "visibility": VISIBILITY, "stdout_visibility": VISIBILITY,
        "extra_data": {"type": "object"}, "leaderboard": {"type": "array"},
        "tests": {"type": "array", "items": {
            "type": "object", "additionalProperties": False,
            "properties": {"score": NUMBER, "max_score": NUMBER, "status": {"enum": ["passed", "failed"]}, "name": TEXT,
                           "name_format": FORMAT, "number": TEXT, "output": TEXT, "output_format": FORMAT,
                           "tags": {"type": "array", "items": TEXT}, "visibility": VISIBILITY,
                           "extra_data": {"type": "object"}}}}}}
CLASSROOM50 = {
    "type": "object", "additionalProperties": False,
    "required": ["schema", "classroom", "assignment", "submission", "commit", "release", "review", "datetime",
                 "max-score", "tests"],
    "properties": {
        "schema": {"enum": ["classroom50/result/v1"]}, "classroom": TEXT, "assignment": TEXT, "submission": TEXT,
        "commit": TEXT, "release": TEXT, "review": TEXT, "datetime": TEXT, "score": NUMBER, "max-score": NUMBER,
        "tests": {"type": "array", "items": {
            "type": "object", "additionalProperties": False, "required": ["test-name", "passed", "score", "max-score"],
            "properties": {"test-name": TEXT, "passed": FLAG, "score": NUMBER, "max-score": NUMBER}}}}}
AUTOLAB = {
    "type": "object", "additionalProperties": False, "required": ["scores"],
    "properties": {"scores": {"type": "object", "values": NUMBER}, "scoreboard": {"type": "array"}}}
PRAIRIELEARN = {
    "type": "object", "additionalProperties": False, "required": ["gradable"],
    "properties": {
        "gradable": FLAG, "score": {"type": "number", "minimum": 0, "maximum": 1}, "message": TEXT, "output": TEXT,
        "format_errors": {"type": "array", "items": TEXT},
        "tests": {"type": "array", "items": {
            "type": "object", "additionalProperties": False, "required": ["name", "points", "max_points"],
            "properties": {"name": TEXT, "points": NUMBER, "max_points": NUMBER, "message": TEXT, "output": TEXT}}}}}
SCHEMAS = {"gradescope": GRADESCOPE, "classroom50": CLASSROOM50, "autolab": AUTOLAB, "prairielearn": PRAIRIELEARN}
NBGRADER = ["assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
            "late_submission_penalty", "score", "max_score"]
MOODLE = ["Identifier", "Full name", "Username", "Status", "Grade", "Maximum grade"]
TYPES = {"object": dict, "array": list, "string": str, "number": (int, float), "boolean": bool}


def errors(value, schema, place="$"):
    """Return what in a value does not fit a schema, as a list of sentences."""
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{place}: {value!r} is none of {schema['enum']}"]
    if not isinstance(value, TYPES[schema["type"]]) or (schema["type"] == "number" and isinstance(value, bool)):
        return [f"{place}: {value!r} is no {schema['type']}"]
    found = [f"{place}: {value} is outside" for bound, sign in (("minimum", 1), ("maximum", -1))
             if bound in schema and sign * value < sign * schema[bound]]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        found += [f"{place}: {key} is missing" for key in schema.get("required", ()) if key not in value]
        if schema.get("additionalProperties", True) is False:
            found += [f"{place}: {key} is unknown" for key in value if key not in properties]
        for key, item in value.items():
            if key in properties or "values" in schema:
                found += errors(item, properties.get(key) or schema["values"], f"{place}.{key}")
    if isinstance(value, list) and "items" in schema:
        for at, item in enumerate(value):
            found += errors(item, schema["items"], f"{place}[{at}]")
    return found
