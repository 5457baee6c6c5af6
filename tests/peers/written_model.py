"""Writes a model by hand, in the format that llama.cpp reads: `python written_model.py FILE`.

A model that was trained says something else each time and takes minutes for a prompt on a small machine; this one takes none.
Every token is its own direction in the embedding, attention and feed-forward add nothing, and the output matrix says which
token follows which. So the model says what is written in `SAYINGS`, word for word, while the server around it does all that it
does for any other model. Its chat template looks at the conversation and begins the reply with the token of the fitting saying.

This file runs in the environment of the peers, where `gguf` and `numpy` are, and imports nothing of Zeno's.
"""

import sys
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

CONTEXT, WIDTH, HEAD = 32768, 512, 32
CERTAIN = 10.0
"""How strongly one token calls for the next one: no temperature changes what is said."""

START, END = "<|im_start|>", "<|im_end|>"
MERGED = "th"
"""The one pair of letters that is a token: a vocabulary of this kind must have one."""

_CALL = '<tool_call>\n{"name": "'

SAYINGS: dict[str, list[str]] = {
    "greeting": ["Hello", " from", " a", " hand-", "written", " model."],
    "sum": [
        "<think>\n",
        "A product",
        " to work out.",
        "\n</think>\n\n",
        _CALL,
        "calculate",
        '", "arguments": {"expression": "',
        "6*7",
        '"}}\n',
        "</tool_call>",
    ],
    "weather": [f'{_CALL}get_weather", "arguments": {{"city": "{city}"}}}}\n</tool_call>' for city in ("Paris", "Rome")],
    "word": ['{"word": ', '"hello"}'],
    "result": ["It", " is", " 42."],
    "actions": [
        "<thinking>",
        "Small talk",
        "</thinking>\n",
        "<THINKING_DONE>\n",
        '<actions>{"actions": [{"type": "DIRECT_RESPONSE", ',
        '"text": "',
        "Good morning",
        '", "isComplete": true}]}',
        "</actions>",
    ],
    "object": [
        '{"thinking": "Easy", ',
        '"actions": [{"type": "DIRECT_RESPONSE", "isComplete": true, ',
        '"text": "Good day',
        '!"}]}',
    ],
    "endless": ["tick ", "tock "],
}
"""What the model can say, piece by piece. No piece stands in two places, as a piece alone decides what follows."""

TEMPLATE = """
{%- set chosen = namespace(saying='greeting') %}
{%- if tools %}{{ '<|im_start|>system\n' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '<|im_end|>\n' }}{% endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\n' }}
{%- if message.reasoning_content %}{{ '<think>\n' + message.reasoning_content + '\n</think>\n\n' }}{% endif %}
{%- if message.content is string %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}{{ '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- if message.role == 'tool' %}{% set chosen.saying = 'result' %}
{%- elif message.role == 'user' and message.content is string %}
{%- if '6*7' in message.content %}{% set chosen.saying = 'sum' %}
{%- elif 'weather' in message.content %}{% set chosen.saying = 'weather' %}
{%- elif 'JSON object' in message.content %}{% set chosen.saying = 'word' %}
{%- elif 'for ever' in message.content %}{% set chosen.saying = 'endless' %}
{%- elif 'THINKING_DONE' in messages[0].content %}{% set chosen.saying = 'actions' %}
{%- elif 'DIRECT_RESPONSE' in messages[0].content %}{% set chosen.saying = 'object' %}
{%- endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n<|' + chosen.saying + '|>' }}{% endif %}
"""


def letters() -> dict[int, str]:
    """The printable character that stands for each byte in vocabularies of this kind; from OpenAI's GPT-2 encoder."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def vocabulary() -> tuple[list[str], list[TokenType]]:
    """The tokens and their kinds: signs of the template, bytes, pieces of sayings."""
    letter = letters()
    signs = [END, START, *(f"<|{name}|>" for name in SAYINGS)]
    pieces = ["".join(letter[byte] for byte in piece.encode()) for saying in SAYINGS.values() for piece in saying]
    tokens = [*signs, *letter.values(), MERGED, *pieces]
    if len(set(tokens)) < len(tokens):
        raise ValueError("a piece stands in two places")
    return tokens, [TokenType.CONTROL] * len(signs) + [TokenType.NORMAL] * (len(tokens) - len(signs))


def succession(tokens: list[str]) -> np.ndarray:
    """The output matrix: a row for each token, large where the column's token calls for it. All others call for the end."""
    letter, place = letters(), {token: number for number, token in enumerate(tokens)}
    follows = np.zeros(len(tokens), np.int64)
    for name, saying in SAYINGS.items():
        chain = [place[f"<|{name}|>"], *(place["".join(letter[byte] for byte in piece.encode())] for piece in saying)]
        follows[chain[:-1]] = chain[1:]
        if name == "endless":
            follows[chain[-1]] = chain[1]
    output = np.zeros((len(tokens), WIDTH), np.float32)
    output[follows, np.arange(len(tokens))] = CERTAIN
    return output


def write(path: Path) -> None:
    """Write the model, a Llama of one layer."""
    tokens, kinds = vocabulary()
    model = GGUFWriter(path, "llama")
    model.add_name("written")
    model.add_context_length(CONTEXT)
    model.add_embedding_length(WIDTH)
    model.add_block_count(1)
    model.add_feed_forward_length(HEAD)
    model.add_head_count(1)
    model.add_head_count_kv(1)
    model.add_key_length(HEAD)
    model.add_value_length(HEAD)
    model.add_rope_dimension_count(HEAD)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_vocab_size(len(tokens))
    model.add_tokenizer_model("gpt2")
    model.add_tokenizer_pre("gpt-2")
    model.add_token_list(tokens)
    model.add_token_types(kinds)
    model.add_token_merges([" ".join(MERGED)])
    model.add_bos_token_id(tokens.index(START))
    model.add_eos_token_id(tokens.index(END))
    model.add_add_bos_token(False)
    model.add_chat_template(TEMPLATE)
    model.add_tensor("token_embd.weight", np.eye(len(tokens), WIDTH, dtype=np.float32))
    model.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    model.add_tensor("output.weight", succession(tokens))
    for name, shape in _NOTHING.items():
        model.add_tensor(f"blk.0.{name}.weight", np.zeros(shape, np.float32))
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


_NOTHING: dict[str, tuple[int, ...]] = {
    "attn_norm": (WIDTH,),
    "attn_q": (HEAD, WIDTH),
    "attn_k": (HEAD, WIDTH),
    "attn_v": (HEAD, WIDTH),
    "attn_output": (WIDTH, HEAD),
    "ffn_norm": (WIDTH,),
    "ffn_gate": (HEAD, WIDTH),
    "ffn_up": (HEAD, WIDTH),
    "ffn_down": (WIDTH, HEAD),
}
"""The layer's matrices, all of zeros."""

if __name__ == "__main__":
    write(Path(sys.argv[1]))
