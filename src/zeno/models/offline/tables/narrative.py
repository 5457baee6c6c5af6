"""Sentences about findings: the headline and what stands out. Every number comes from a block of findings."""

from collections.abc import Callable
from dataclasses import dataclass

from zeno.i18n import text
from zeno.models.offline.tables import facts, figures
from zeno.models.offline.tables.facts import GroupFigure, Timeline
from zeno.models.offline.tables.findings import BLANK, REST, Block
from zeno.models.offline.tables.periods import spoken_period

_MOSTLY = 80.0
"""Percent of the whole that the leading groups must make up before their concentration is worth a sentence."""


@dataclass(frozen=True)
class Narrative:
    """Tells what a block says, in one language."""

    block: Block
    language: str

    def headline(self) -> str:
        """The conclusion: the latest figure, its change and who drove it; without periods the whole and who leads."""
        line = self.block.line
        if line is None or line.latest is None:
            return self._whole()
        params = {"label": self.label, "period": self.period(line, line.last), "latest": self.shown(line.latest)}
        change, driver = facts.difference(line.latest, line.previous), self._driver()
        if change is None:
            return self.say("headline.latest", **params)
        before = self.period(line, line.last - 1)
        told = self.say(f"headline.{_direction(change)}", **params, change=self._moved(change, line), before=before)
        return f"{told}{self.say('words.next')}{driver}" if driver else told

    def stands_out(self) -> list[str]:
        """Trend, extremes, the groups that moved most and how concentrated the whole is."""
        line = self.block.line
        timed = [self.trend(), self._extremes(line)] if line else []
        return [sentence for sentence in (*timed, *self._movers(), self._jump(), self._concentration()) if sentence]

    def lead(self) -> str:
        """One sentence that opens a section: who leads, with its figure and share."""
        leader = self.leader()
        if leader is None:
            return self.say("lead.whole", label=self.label, total=self.shown(self.block.overall))
        group = self.block.group.name if self.block.group else ""
        key = "lead.share" if leader.share is not None else "lead.figure"
        params = {"label": self.label, "group": group, "name": leader.name, "total": self.shown(leader.total)}
        return self.say(key, **params, share=figures.points(leader.share, self.language))

    def leader(self) -> GroupFigure | None:
        """The group with the greatest figure."""
        counted = [figure for figure in self.block.real if figure.total is not None]
        return max(counted, key=lambda figure: figure.total or 0.0, default=None)

    def mover(self, pick: Callable[..., GroupFigure], sign: int) -> GroupFigure | None:
        """The group that rose (`max`, 1) or fell (`min`, -1) most between the last two periods."""
        moved = [figure for figure in self.block.real if figure.change is not None and figure.change * sign > 0]
        return pick(moved, key=lambda figure: figure.change or 0.0) if moved else None

    def name(self, group: str) -> str:
        """A group's name for people."""
        return self.word("words.rest" if group == REST else "words.blank") if group in (REST, BLANK) else group

    def period(self, line: Timeline, at: int) -> str:
        """A period's name for people."""
        return spoken_period(line.labels[at], line.every, self.language)

    @property
    def label(self) -> str:
        """What the measure is called."""
        return figures.label(self.block.measure, self.language)

    def shown(self, value: float | None) -> str:
        """A figure of the block's measure."""
        return figures.figure(value, self.block.measure.unit, self.language)

    def signed(self, value: float | None) -> str:
        """A change of the block's measure."""
        return figures.signed(value, self.block.measure.unit, self.language)

    def say(self, key: str, **params: str | int) -> str:
        """A sentence of the catalogue."""
        return figures.sentence(text(self.language, f"offline.{key}", **params), self.language)

    def word(self, key: str, **params: str | int) -> str:
        """A word or a piece of a sentence of the catalogue."""
        return text(self.language, f"offline.{key}", **params)

    def _whole(self) -> str:
        leader = self.leader()
        total = self.shown(self.block.overall)
        if leader is None:
            return self.say("lead.whole", label=self.label, total=total)
        key = "headline.whole_share" if leader.share is not None else "headline.whole"
        params = {"label": self.label, "total": total, "name": leader.name, "figure": self.shown(leader.total)}
        return self.say(key, **params, share=figures.points(leader.share, self.language))

    def _driver(self) -> str:
        line = self.block.line
        change = facts.difference(line.latest, line.previous) if line else None
        if not change or not self.block.measure.adds_up:
            return ""
        driver = self.mover(max, 1) if change > 0 else self.mover(min, -1)
        return self.say("headline.driver", name=driver.name, change=self.signed(driver.change)) if driver else ""

    def _moved(self, change: float, line: Timeline) -> str:
        """The size of the latest change; the sentence around it says the direction."""
        percent = facts.percent(line.latest, line.previous)
        size = self.shown(abs(change))
        if percent is None:
            return size
        return self.word("words.with_percent", change=size, percent=figures.signed_points(percent, self.language))

    def _with_percent(self, change: float, percent: float | None) -> str:
        if percent is None:
            return self.signed(change)
        return self.word(
            "words.with_percent", change=self.signed(change), percent=figures.signed_points(percent, self.language)
        )

    def trend(self) -> str:
        """The course over all complete periods, "" when there are too few."""
        line = self.block.line
        found = facts.trend(line) if line else None
        if line is None or found is None:
            return ""
        (first, start), *_, (last, end) = line.complete
        params = {
            "label": self.label,
            "first": self.period(line, line.labels.index(first)),
            "last": self.period(line, line.labels.index(last)),
            "start": self.shown(start),
            "end": self.shown(end),
            "slope": self.signed(found.slope),
            "grain": self.word(f"grain.{line.every}"),
        }
        return self.say(f"trend.{found.direction}", **params)

    def _extremes(self, line: Timeline) -> str:
        if len(line.complete) < 3:
            return ""
        best, worst = max(line.complete, key=lambda pair: pair[1]), min(line.complete, key=lambda pair: pair[1])
        if best[1] == worst[1]:
            return ""
        return self.say(
            "finding.extremes",
            best=self.period(line, line.labels.index(best[0])),
            most=self.shown(best[1]),
            worst=self.period(line, line.labels.index(worst[0])),
            least=self.shown(worst[1]),
        )

    def _movers(self) -> list[str]:
        told = []
        for key, mover in (("mover.up", self.mover(max, 1)), ("mover.down", self.mover(min, -1))):
            if mover is not None and mover.change is not None:
                change = self._with_percent(mover.change, facts.percent(mover.latest, mover.previous))
                told.append(self.say(key, name=mover.name, change=change, latest=self.shown(mover.latest)))
        return told

    def _jump(self) -> str:
        """The greatest change of one group between any two neighbouring periods, unless it is the latest one, told already."""
        line = self.block.line
        real = {name: values for name, values in self.block.drawn.items() if name not in (REST, BLANK)}
        found = [move for move in facts.moves(real, line) if move.change] if line else []
        if line is None or not found:
            return ""
        jump = max(found, key=lambda move: abs(move.change))
        if jump.label == line.labels[line.last]:
            earlier = [move for move in found if move.label != jump.label and move.change < 0]
            if not earlier:
                return ""
            jump = min(earlier, key=lambda move: move.change)
        key = "jump.up" if jump.change > 0 else "jump.down"
        change = self._with_percent(jump.change, jump.percent)
        return self.say(key, name=jump.group, change=change, period=self.period(line, line.labels.index(jump.label)))

    def _concentration(self) -> str:
        shares = sorted(((f.share, f.name) for f in self.block.real if f.share is not None), reverse=True)
        if len(shares) < 3:
            return ""
        added, names = 0.0, []
        for part, name in shares:
            added += part
            names.append(name)
            if added >= _MOSTLY:
                break
        if len(names) > len(shares) / 2 and len(names) > 2:
            names, added = [name for _, name in shares[:2]], sum(part for part, _ in shares[:2])
        listed = self.word("words.comma").join(names)
        return self.say("finding.concentration", names=listed, share=figures.points(added, self.language))


def _direction(change: float) -> str:
    return "up" if change > 0 else "down" if change < 0 else "level"
