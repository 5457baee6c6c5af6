"""Bodies: what all bodies of requests have in common. What they mean is the routes' business."""

from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator
from pydantic_core import PydanticCustomError

from zeno.server.characters import FAULT, acceptable


class Body(BaseModel):
    """A body of a request: nothing unknown in it, no value of another type, and nothing of it in what is said about it."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    @field_validator("*")
    @classmethod
    def _has_acceptable_characters(cls, value: Any) -> Any:
        if not acceptable(value):
            raise PydanticCustomError(FAULT, "characters")
        return value
