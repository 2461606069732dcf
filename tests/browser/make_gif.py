"""Draws docs/demo.gif, the README's moving picture: python -m tests.browser.make_gif [FILE].

The recorded run of the first shipped example as a replay file, moved on frame by frame: no model,
no server, and every frame at its own time, however slow the machine is that draws it.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from app.examples import Example, load_examples
from app.preview import MAX_SIDE, inline
from app.replay_file import replay_html
from glance.trace import dumps
from tests.browser.conftest import FLAGS, ROOT

FRAMES = 48
STEP = 160  # ms a frame
HOLD = 2500  # ms, the last frame
WIDTH = 900  # px of the file
COLOURS = 255
LIMIT = 2_000_000  # bytes
#: the run at the top alone, no scrollbar
STYLE = ".g-rounds, .g-tools { display: none !important; } body { overflow: hidden; }"


def main() -> None:
    """Write the file, or nothing if it would be larger than LIMIT."""
    path = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "demo.gif"
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        replay = Path(folder) / "replay.html"
        replay.write_text(replay_html(_with_picture(load_examples()[0])), encoding="utf-8")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS, timeout=120_000
        )
        page = browser.new_page(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
        page.goto(replay.as_uri())
        page.add_style_tag(content=STYLE)
        frames = [_frame(page, number / FRAMES) for number in range(FRAMES + 1)]
        browser.close()
    gif = _gif(frames)
    if len(gif) > LIMIT:
        raise SystemExit(f"{len(gif):,} bytes, more than {LIMIT:,}: nothing was written.")
    path.write_bytes(gif)
    sys.stdout.write(f"{path}: {len(frames)} frames, {len(gif):,} bytes\n")


def _with_picture(example: Example) -> str:
    """The example's trace, with the picture of its page."""
    first, _, rest = example.recorded().partition("\n")
    header = json.loads(first)
    header["image"]["bytes"] = inline(example.document().image, MAX_SIDE)
    return f"{dumps(header)}\n{rest}"


def _frame(page: Page, share: float) -> Image.Image:
    """The page when so much of the run's time has passed."""
    page.evaluate(
        """(share) => { const { player, emit } = GLANCE;
        const playing = share < 1;
        Object.assign(player, { playing, rate: player.span() / 8000,
          now: playing ? share * player.span() : Infinity });
        player.live();
        emit('time'); }""",
        share,
    )
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    height = round(picture.height * WIDTH / picture.width)
    return picture.resize((WIDTH, height), Image.Resampling.LANCZOS)


def _gif(frames: list[Image.Image]) -> bytes:
    """The frames in one palette, so that a frame stores only what it changes."""
    palette = frames[-1].quantize(COLOURS, dither=Image.Dither.NONE)
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    times = [STEP] * len(rest) + [HOLD]
    data = io.BytesIO()
    first.save(
        data, "GIF", save_all=True, append_images=rest, duration=times, loop=0, optimize=True
    )
    return data.getvalue()


if __name__ == "__main__":
    main()
