"""Bodies: what all bodies of requests have in common. What they mean is the routes' business."""

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """A body of a request: nothing unknown in it, no value of another type, and nothing of it in what is said about it."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)
