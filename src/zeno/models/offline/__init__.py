"""The offline model: what answers when there is no language model to reach.

It is rules, a small bundled embedder and arithmetic; it never pretends to be more. It knows messages and the schemas of the
tools it is offered, never the tools themselves.
"""
