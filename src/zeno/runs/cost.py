"""What a run cost: its reported tokens times the prices of the settings."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from zeno.core.events import ModelReplied
from zeno.core.messages import Usage
from zeno.stores.event_log import Record


class Price(Struct, frozen=True):
    """Per million tokens, in whatever currency the settings mean. `cached` is for input read from the provider's cache."""

    input: float
    output: float
    cached: float

    def of(self, usage: Usage) -> float:
        """The price of one reply."""
        fresh = max(usage.input_tokens - usage.cached_tokens, 0)
        return (fresh * self.input + usage.cached_tokens * self.cached + usage.output_tokens * self.output) / 1e6


def cost(records: Iterable[Record], prices: Mapping[str, Price]) -> float | None:
    """The cost of a run's replies, `None` when one came from a model that has no price."""
    total = 0.0
    for record in records:
        if isinstance(record.event, ModelReplied):
            price = prices.get(record.event.model)
            if price is None:
                return None
            total += price.of(record.event.usage)
    return total
