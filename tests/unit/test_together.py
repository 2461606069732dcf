"""How launched processes find each other and share work; no second process is started here.

Run: python -m pytest tests/unit/test_together.py
"""

from typing import Any

import pytest
import torch
from torch import distributed

from glance import together
from glance.together import joined, merged, own_device, share


@pytest.mark.parametrize(("cuda", "backend"), [(False, "gloo"), (True, "cpu:gloo,cuda:nccl")])
def test_cpu_tensors_have_a_backend_beside_that_of_gpus(
    monkeypatch: pytest.MonkeyPatch, cuda: bool, backend: str
) -> None:
    calls: list[Any] = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(distributed, "init_process_group", lambda name, **_: calls.append(name))
    monkeypatch.setattr(distributed, "destroy_process_group", lambda: calls.append("left"))
    with pytest.raises(ValueError, match="broken"), joined():
        raise ValueError("broken")
    assert calls == [backend, "left"]


def test_one_process_joins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setattr(distributed, "init_process_group", None)
    with joined():
        assert together.processes() == 1
    assert together.is_first()


def test_each_process_has_a_card_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert [own_device(name) for name in ("cuda", "cuda:1", "cpu")] == ["cuda:3", "cuda:1", "cpu"]


@pytest.mark.parametrize("items", [[], [0], [0, 1, 2, 3, 4, 5, 6]])
def test_shares_are_put_together_in_order(monkeypatch: pytest.MonkeyPatch, items: list) -> None:
    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed, "get_world_size", lambda: 3)
    parts = []
    for rank in range(3):
        monkeypatch.setattr(distributed, "get_rank", lambda rank=rank: rank)
        parts.append(share(items))
    assert sorted(item for part in parts for item in part) == items
    monkeypatch.setattr(together, "gathered", lambda _own: parts)
    assert merged(parts[0]) == items


def test_items_that_a_process_left_out_are_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [[3], [1, 4], [2, 5, 8]]  # the first process left out 0 and 6, the second 7
    monkeypatch.setattr(together, "gathered", lambda _own: parts)
    assert merged(parts[0]) == [3, 1, 2, 4, 5, 8]
