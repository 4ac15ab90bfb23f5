"""The diagnosis of a wrong gradient: from measurements to one sentence that names the mistake."""
