"""Traces: how a run names itself to others, so that what they do for it is found again under its id (W3C Trace Context)."""


def run_span(run_id: str) -> str:
    """The id of the run's own span: what others are asked on its behalf has it as parent."""
    return run_id[16:]


def traceparent(run_id: str) -> str:
    """The header that tells others which trace they take part in."""
    return f"00-{run_id}-{run_span(run_id)}-01"
