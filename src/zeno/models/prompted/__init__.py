"""The prompted protocol: any chat model thinks first, then writes its actions as JSON, and is read while it writes.

`protocol` is what the model is told, `history` shows it the conversation in the same form, `parser` reads its reply piece by
piece, `actions` turns the JSON into calls and words, `client` is the model client that other rooms use. The room knows no
provider and no loop: it stands between two `ModelClient`s.
"""
