"""The schema of a run's record, for those who read exports."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from ioplan.records.record import RunRecord

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Complete(GenerateJsonSchema):
    """Requires every field: what is exported leaves no default out."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return True


def record_schema() -> dict[str, Any]:
    """The JSON Schema of a RunRecord as it is exported: every field is there."""
    schema = RunRecord.model_json_schema(
        mode="serialization", schema_generator=_Complete
    )
    return {"$schema": DIALECT, **schema, "title": "ioplan run record"}
