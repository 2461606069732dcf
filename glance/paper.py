"""The GLANCE paper's figures (arXiv 2609.00355, revised) that ours stand beside. No torch.

Its target is Qwen3-VL-8B, greedy, on COCO captions and four public question sets; ours is another
model on pages drawn here. So the order of drafters can be compared, not their figures.
"""

from __future__ import annotations

SOURCE = "arXiv 2609.00355"

#: ours, by the paper's: caption, TextVQA, InfoVQA, DocVQA, ChartQA
TASKS = ("caption", "textvqa", "infovqa", "docvqa", "chartqa")

#: acceptance length on each of TASKS, the bonus token counted
TAU = {
    "glance": (3.09, 3.46, 3.75, 3.76, 5.12),
    "eagle3": (2.13, 2.66, 2.48, 2.56, 2.92),  # EAGLE3-VL
    "eagle2": (2.41, 2.45, 2.38, 2.54, 2.89),
    "vispec": (2.45, 2.43, 2.45, 2.46, 2.95),
    "medusa": (1.51, 1.52, 1.47, 1.53, 1.61),
    "ngram": (1.29, 2.49, 2.53, 3.30, 2.57),
}

#: the matched comparison: both heads trained from scratch on one corpus
MATCHED_NODES = 63  # N
MATCHED_TAU = {
    "glance": (4.05, 3.97, 3.90, 4.13, 7.44),
    "eagle3-chain": (1.62, 1.59, 1.55, 1.58, 1.87),  # depth 3
}
MATCHED_POOLED = {"glance": 4.37, "eagle3-chain": 1.60}
MATCHED_RATIO = 2.73
