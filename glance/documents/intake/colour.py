"""Any colour mode to RGB, so that what a person would read stays readable."""

from __future__ import annotations

import numpy as np
from PIL import Image

from glance.documents.intake.document import DocumentError, Notice


def to_rgb(image: Image.Image) -> tuple[Image.Image, tuple[Notice, ...]]:
    """A decoded image in RGB, transparent ones on paper.

    Raises:
        DocumentError: a mode that has no conversion.
    """
    if image.mode.startswith("I") or image.mode == "F":
        return _deep_grey_to_rgb(image), ()
    if image.has_transparency_data:
        return _on_paper(image.convert("RGBA"))
    try:
        return image.convert("RGB"), ()
    except ValueError as error:  # LAB has no direct conversion
        raise DocumentError(
            f"The image's colour mode {image.mode} cannot be read: save it as RGB first."
        ) from error


def _deep_grey_to_rgb(image: Image.Image) -> Image.Image:
    """16-bit, 32-bit and floating-point grey to 8 bits, by scaling where Pillow would clip."""
    grey = np.nan_to_num(np.asarray(image, dtype=np.float32))
    low, high = float(grey.min()), float(grey.max())
    if image.mode.startswith("I;16") or (low >= 0 and 255 < high <= 65535):
        low, high = 0.0, 65535.0
    elif image.mode == "F" and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif low >= 0 and high <= 255:
        low, high = 0.0, 255.0
    scaled = (grey - low) * (255.0 / (high - low)) + 0.5
    return Image.fromarray(scaled.clip(0, 255).astype(np.uint8)).convert("RGB")


def _on_paper(image: Image.Image) -> tuple[Image.Image, tuple[Notice, ...]]:
    """A transparent image on white; on black where nothing in it is dark enough for white."""
    visible = image.getchannel("A").point(lambda alpha: 255 * (alpha > 127))
    shades = image.convert("RGB").convert("L").histogram(visible)
    seen, dark = sum(shades), sum(shades[:160])
    light_only = 0 < seen < image.width * image.height and dark < seen / 200
    paper = Image.new("RGBA", image.size, "black" if light_only else "white")
    text = "The image is light on a transparent ground: it is shown on black."
    notices = (Notice("info", "transparent", text),) if light_only else ()
    return Image.alpha_composite(paper, image).convert("RGB"), notices
