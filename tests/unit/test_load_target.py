"""Loading a target from a folder or the hub: what is said before, and what is refused.

Nothing is downloaded here. Run: python -m pytest tests/unit/test_load_target.py
"""

import json
import logging
from pathlib import Path
from typing import Any

import httpx
import huggingface_hub
import pytest
import torch
from huggingface_hub import constants
from huggingface_hub.errors import (
    GatedRepoError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from PIL import Image
from transformers import InternVLConfig

from glance.cli.decoding import drafter_names
from glance.cli.main import build_parser
from glance.cli.target import named_target
from glance.drafters.load import NAMES
from glance.hub import is_hub_id
from glance.targets import load
from glance.targets.catalog import TARGETS
from glance.targets.embedded import build_model, build_processor
from glance.targets.families import FAMILIES, TargetError
from glance.targets.load import load_target
from glance.targets.memory import MemoryNeed, memory_need

HUB_ID = "owner/tiny-vlm"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hub") / "0123456789abcdef"
    torch.manual_seed(0)
    build_model(layers=2, width=64, vision_layers=1).save_pretrained(path)
    build_processor().save_pretrained(path)
    return path


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[dict[str, Any]]:
    """A hub with one repository, and what it is asked for."""
    asked: list[dict[str, Any]] = []

    def snapshot_download(repository: str, **options: Any) -> str:
        asked.append({"repository": repository, **options})
        if repository == HUB_ID:
            return str(folder)
        answer = httpx.Response(404, request=httpx.Request("GET", "https://hub"))
        if repository == "owner/gated":
            raise GatedRepoError("403", response=answer)
        if repository == "owner/none":
            raise RepositoryNotFoundError("404", response=answer)
        raise LocalEntryNotFoundError("no connection")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return asked


# --- what it takes ---


def test_memory_is_told_from_the_config_alone(folder, tmp_path):
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    need = memory_need(tmp_path, torch.bfloat16)
    model = build_model(layers=2, width=64, vision_layers=1)
    held = {weights.data_ptr(): weights.numel() for weights in model.parameters()}
    assert need.parameters == sum(held.values())
    assert need.weights == 2 * need.parameters
    assert need.per_token == 2 * 2 * 2 * 16 * 2  # keys, values: layers, heads, width, bytes


def test_memory_in_words():
    need = MemoryNeed(8_767_000_000, 17_534_000_000, 147_456, torch.bfloat16)
    assert str(need) == (
        "8.8 billion parameters take 16 GiB in bfloat16, and 1,000 tokens of context 0.14 GiB more"
    )


def test_memory_is_stated_before_loading(folder, caplog, monkeypatch):
    with caplog.at_level(logging.INFO, "glance.targets.load"):
        monkeypatch.setattr(load, "free_memory", lambda _device: 1000)
        with pytest.raises(TargetError, match=r"does not fit: its .* parameters take .*cpu has"):
            load_target(folder)
    assert "billion parameters take" in caplog.text
    with pytest.raises(TargetError, match=r"all devices together has .* or dtype bfloat16\.$"):
        load_target(folder, device_map="auto")
    with pytest.raises(TargetError, match=r'a smaller model or device_map="auto"\.$'):
        load_target(folder, dtype=torch.float16)


def test_the_stated_context_must_fit_too(folder, monkeypatch):
    need = memory_need(folder, torch.float32)
    monkeypatch.setattr(load, "free_memory", lambda _device: need.weights + 999 * need.per_token)
    with pytest.raises(TargetError, match="does not fit"):
        load_target(folder)


def test_a_device_that_is_not_there_is_named(folder):
    with pytest.raises(TargetError, match="no device cuda:99 on this machine"):
        load_target(folder, device="cuda:99")


def test_a_device_map_gives_the_same_model(folder):
    plain, spread = load_target(folder), load_target(folder, device_map="auto")
    assert spread.revision == plain.revision
    assert spread.device.type in ("cpu", "cuda")
    for mine, theirs in zip(plain.model.parameters(), spread.model.parameters(), strict=True):
        assert torch.equal(mine, theirs.cpu())


def test_half_precision_brings_its_certificate(folder):
    assert load_target(folder).certificate is None
    certificate = load_target(folder, dtype=torch.bfloat16).certificate
    assert certificate is not None
    assert 0 < certificate.largest < 1


def test_the_pixel_limit_can_be_lowered(folder):
    target = load_target(folder, max_pixels=100 * 14 * 14)
    assert target.family.most_pixels(target.processor) == 100 * 14 * 14
    large = Image.new("RGB", (900, 600), "white")
    assert target.prompt(large, "?").image_tokens <= 100 < 900 * 600 // 14**2


# --- the hub ---


def test_a_repository_is_fetched_config_first_and_without_code(hub):
    target = load_target(HUB_ID)
    assert [each["repository"] for each in hub] == [HUB_ID, HUB_ID]
    assert hub[0]["allow_patterns"] == ["config.json"]
    assert not {"*.py", "*.bin", "*.pt"} & set(hub[1]["allow_patterns"])
    assert (target.name, target.revision) == (HUB_ID, "0123456789ab")


@pytest.mark.parametrize(
    ("repository", "offline", "said"),
    [
        ("owner/gated", False, r"is gated: accept its licence"),
        ("owner/none", False, r"no folder owner/none here and nothing of that name"),
        ("owner/away", False, r"hub is out of reach and owner/away is not in its cache"),
        ("owner/away", True, r"downloads are switched off: set HF_HUB_OFFLINE=0"),
    ],
)
def test_what_cannot_be_fetched_is_one_sentence(hub, monkeypatch, repository, offline, said):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    with pytest.raises(TargetError, match=said) as caught:
        load_target(repository)
    assert "\n" not in str(caught.value)
    assert len(hub) == 1


def test_a_folder_comes_before_the_hub(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_hub_id("owner/name")
    (tmp_path / "owner" / "name").mkdir(parents=True)
    for given in ("owner/name", Path("owner/other"), "/owner/name", "./name", "embedded", "a/b/c"):
        assert not is_hub_id(given)


# --- refused ---


def test_weights_that_are_no_safetensors_are_refused(folder, tmp_path):
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(TargetError, match="no safetensors files"):
        load_target(tmp_path)


def test_a_hybrid_text_model_is_refused_before_its_weights_are_fetched(
    folder, tmp_path, hub, monkeypatch
):
    text = {"model_type": "qwen3_next", "num_hidden_layers": 4}
    hybrid = InternVLConfig(text_config=text)
    assert "linear_attention" in hybrid.get_text_config().layer_types
    hybrid.save_pretrained(tmp_path)
    with pytest.raises(TargetError, match=r"mixes recurrent layers .* cannot be rolled back"):
        load_target(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config["text_config"]["layer_types"] = ["full_attention", "chunked_attention"]
    monkeypatch.setattr(load, "fetched", lambda *asked: hub.append(asked) or tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(TargetError, match="has chunked_attention layers"):
        load_target(HUB_ID)
    assert [patterns for _, patterns, _ in hub] == [("config.json",)]


def test_quantised_weights_are_refused(folder, tmp_path):
    config = json.loads((folder / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "quantization_config": {}}))
    with pytest.raises(TargetError, match="is quantised"):
        load_target(tmp_path)


# --- the command line ---


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("", {}),
        ("--dtype bfloat16 --device auto", {"dtype": torch.bfloat16, "device_map": "auto"}),
        ("--device cuda:1 --max-pixels 1000", {"device": "cuda:1", "max_pixels": 1000}),
    ],
)
def test_options_say_how_to_load(monkeypatch, capsys, words, settings):
    def loaded(name: str, **given: Any) -> str:
        load.log.info("%s takes much", name)
        assert given == settings
        return name

    monkeypatch.setattr(load, "load_target", loaded)
    options = build_parser().parse_args(["audit", "--target", HUB_ID, *words.split()])
    assert named_target(options) == HUB_ID
    assert f"{HUB_ID} takes much" in capsys.readouterr().err
    assert not load.log.handlers


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (f"--target {HUB_ID}", ["ngram", "ar"]),
        (f"--target {HUB_ID} --head eagle2=folder", ["eagle2", "ngram", "ar"]),
        ("--head eagle2=folder", ["glance", "glance-chain", "eagle2", "ngram", "ar"]),
    ],
)
def test_shipped_heads_are_left_out_beside_another_target(
    monkeypatch, capsys, tmp_path, words, names
):
    (tmp_path / "glance").mkdir()
    (tmp_path / "glance" / "config.json").touch()
    monkeypatch.setattr("glance.drafters.load.MODELS", tmp_path)
    options = build_parser().parse_args(["audit", *words.split()])
    assert drafter_names(options) == names
    assert "no head for them here: " in capsys.readouterr().err


# --- the catalogue ---


def test_the_catalogue_names_supported_families_and_known_drafters():
    assert len({one.hub_id for one in TARGETS}) == len(TARGETS)
    assert {one.family for one in TARGETS} == set(FAMILIES)
    assert all(is_hub_id(one.hub_id) for one in TARGETS)
    heads = [head for one in TARGETS for head in one.heads]
    assert all(head.drafter in NAMES and is_hub_id(head.hub_id) for head in heads)
    first = TARGETS[0]
    assert first.hub_id == "Qwen/Qwen3-VL-8B-Instruct"
    assert first.heads[0].hub_id == "z-lab/Qwen3-8B-DFlash-b16"
    assert 16 < first.memory_gib < 17
