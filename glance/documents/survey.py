"""Counts over pages: lengths of answers by task, template tokens, questions without an answer."""

from collections import Counter
from dataclasses import dataclass, field

from glance.documents import mix
from glance.documents.fields import NOT_THERE
from glance.documents.page import Page


@dataclass(slots=True)
class Survey:
    """Add pages, then read the shares. One token is one character."""

    lengths: Counter[tuple[str, str]] = field(default_factory=Counter)  # (task, length class)
    questions: int = 0
    unanswerable: int = 0
    copied: int = 0  # tokens of grounded extraction answers that stand on the page
    template: int = 0  # the others: separators

    def add(self, page: Page) -> None:
        for q in page.questions:
            self.questions += 1
            self.unanswerable += q.answer == NOT_THERE
            if q.task in mix.EXTRACTION:
                self.lengths[q.task, mix.length_class(q.answer)] += 1
                if q.answer != NOT_THERE:
                    self.template += sum(i < 0 for i in q.glyphs)
                    self.copied += sum(i >= 0 for i in q.glyphs)

    def table(self) -> list[tuple[str, int, float, float, float]]:
        """A row a task: questions, % short, % middle, % long."""
        rows = []
        for task in mix.EXTRACTION:
            counts = [self.lengths[task, length] for length in mix.LENGTHS]
            total = sum(counts)
            if total:
                short, middle, long = (100 * count / total for count in counts)
                rows.append((task, total, short, middle, long))
        return rows

    def shares(self) -> tuple[float, float]:
        """% of template tokens in grounded answers, % of questions without an answer."""
        grounded = self.template + self.copied
        return 100 * self.template / max(grounded, 1), 100 * self.unanswerable / self.questions
