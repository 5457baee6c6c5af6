"""What every embedder promises: rows of length one, near texts near, no vector for nothing."""

import threading

import numpy as np
import pytest

from zeno.models.embedding import BundledEmbedder


@pytest.fixture
def embedder() -> BundledEmbedder:
    return BundledEmbedder()


def test_each_text_becomes_one_row_of_length_one(embedder: BundledEmbedder) -> None:
    vectors = embedder.embed(["weekly sales", "每周销售额", "x"])
    assert vectors.shape == (3, embedder.dimension) == (3, 512)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_no_texts_become_no_rows(embedder: BundledEmbedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_an_empty_text_is_refused(embedder: BundledEmbedder, blank: str) -> None:
    with pytest.raises(ValueError, match="text 1 is empty"):
        embedder.embed(["something", blank])


def test_a_row_does_not_depend_on_the_texts_beside_it(embedder: BundledEmbedder) -> None:
    alone = embedder.embed(["region"])[0]
    together = embedder.embed(["a much longer sentence about the weather in Paris", "region"])[1]
    assert np.allclose(alone, together, atol=1e-5)


@pytest.mark.parametrize(
    ("word", "near", "far"),
    [
        ("渠道", "channel", "amount"),
        ("地区", "region", "date"),
        ("收入", "net revenue", "product"),
        ("日期", "date", "channel"),
    ],
)
def test_a_word_is_nearer_to_its_translation_than_to_another_word(
    embedder: BundledEmbedder, word: str, near: str, far: str
) -> None:
    vectors = embedder.embed([word, near, far])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


def test_several_threads_get_the_same_vectors(embedder: BundledEmbedder) -> None:
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(BundledEmbedder().embed(["channel"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(found) == 4
    assert all(np.array_equal(found[0], vectors) for vectors in found)
