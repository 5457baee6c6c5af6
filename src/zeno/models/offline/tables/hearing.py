"""A sentence heard with the columns of a file in mind: what it mentions, where it groups, what stays unexplained."""

from dataclasses import dataclass

from zeno.i18n import text
from zeno.models.embedding import BundledEmbedder
from zeno.models.offline.conversation import Job
from zeno.models.offline.errands import Unclear
from zeno.models.offline.sentence import plain, without_addresses
from zeno.models.offline.tables import wording
from zeno.models.offline.tables.columns import Mention, mentions, mostly_named, named, nearest
from zeno.models.offline.tables.profile import Column, Profile
from zeno.models.offline.tables.spans import without_spans


@dataclass(frozen=True)
class Said:
    """The sentence made ready: lower case without file names, the columns it mentions, those standing where groups stand."""

    words: str
    original: str
    mentioned: tuple[Mention, ...]
    groups: tuple[Column, ...]
    answered: tuple[Column, ...]


def heard(job: Job, profile: Profile, embedder: BundledEmbedder) -> Said:
    """Read the job's sentence against the columns of a file. Raises `Unclear` for a group that is not there."""
    original = plain(without_addresses(job.said))
    words = original.lower()
    answers = [column for answer in job.answers if (column := named(answer, profile.columns))]
    timeless = without_spans(words)
    mentioned = tuple(mentions(timeless, profile.columns))
    groups = _phrased_groups(job, timeless, profile, embedder, answered=bool(answers))
    return Said(words, original, mentioned, groups, tuple(answers))


def unexplained(said: Said) -> list[str]:
    """The words of the sentence that are neither a column, a span of time, nor a word of asking."""
    rest = list(without_spans(said.words))
    for mention in said.mentioned:
        rest[mention.start : mention.end] = " " * (mention.end - mention.start)
    return wording.plain_words("".join(rest))


def _phrased_groups(job: Job, words: str, profile: Profile, embedder: BundledEmbedder, *, answered: bool) -> tuple[Column, ...]:
    found: dict[str, Column] = {}
    for phrase in wording.group_phrases(words):
        group = _without_figures(phrase.words, profile)
        column = _phrased(group, phrase, profile, embedder)
        if column is not None:
            found.setdefault(column.name, column)
        elif phrase.sure and not answered and not _is_value(group, profile):
            names = text(job.language, "offline.words.comma").join(column.name for column in profile.columns)
            raise Unclear(text(job.language, "offline.ask.column", column=group, path=profile.path, columns=names))
    return tuple(found.values())


def _phrased(words: str, phrase: wording.GroupPhrase, profile: Profile, embedder: BundledEmbedder) -> Column | None:
    """The column that a phrase in the place of a group means: by its name, by meaning, last by a part of the phrase."""
    column = mostly_named(words, profile.columns)
    if column is not None or _is_value(words, profile):
        return column
    if _worth_asking(phrase):
        column = nearest(words, profile.of_type("text", "boolean", "number"), embedder)
    return column or named(words, profile.columns)


def _without_figures(words: str, profile: Profile) -> str:
    """A phrase without the figure that Chinese puts right behind the group: "页面" of "页面访问量"."""
    starts = [mention.start for mention in mentions(words, profile.of_type("number")) if mention.start]
    return words[: min(starts)].strip() if starts and not words.isascii() else words


def _worth_asking(phrase: wording.GroupPhrase) -> bool:
    return phrase.sure or len(phrase.words.split()) <= 2


def _is_value(words: str, profile: Profile) -> bool:
    return any(words == str(example).lower() for column in profile.columns for example in column.examples)
