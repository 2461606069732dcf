"""The page's list of public models is the catalogue, and nothing beside it.

Run: python -m pytest tests/ui/test_models.py
"""

import re

from app.models import COLUMNS, model_list
from app.session import Session
from app.ui import build
from glance.targets.catalog import TARGETS
from tests.ui.toy_page import toy_runner


def cells(row: str) -> list[str]:
    return re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)


def test_a_row_a_model_with_its_memory_licence_and_heads():
    head, *rows = re.findall(r"<tr>(.*?)</tr>", model_list())
    assert cells(head) == list(COLUMNS)
    assert [cells(row)[0] for row in rows] == [target.hub_id for target in TARGETS]
    assert cells(rows[0]) == [
        "Qwen/Qwen3-VL-8B-Instruct",
        "qwen3_vl",
        "16 GiB",
        "apache-2.0",
        "glance=z-lab/Qwen3-8B-DFlash-b16 (text, for Qwen3-8B; licence: see its page)",
    ]
    for row, target in zip(rows, TARGETS, strict=True):
        _, family, memory, licence, heads = cells(row)
        assert (family, licence) == (target.family, target.licence)
        assert float(memory.removesuffix(" GiB")) > 0
        assert all(each.hub_id in heads for each in target.heads)
        assert target.heads or heads == "none known"


def test_the_page_has_the_list():
    blocks = build(Session(lambda: toy_runner()), ()).blocks.values()
    (found,) = [block for block in blocks if block.elem_id == "g-models"]
    assert model_list() in found.html_template
    assert found.js_on_load is None
