"""Draws the first frame of a GIF: a program of its own that takes the file from standard input.

python draw_gif.py MAX_PIXELS < FILE

A GIF has no header that tells how much of it there is: a small file can be millions of blocks, and
joining a long comment takes time with the square of its length. In a process of its own such a file
costs one reader one page.

To standard output: a line of JSON, {"frames", "mode", "size"}; then the frame as a PNG, unless it
has more than MAX_PIXELS.
"""

import io
import json
import sys

from PIL import Image


def main() -> None:
    """Read the argument and the file; answer."""
    with Image.open(io.BytesIO(sys.stdin.buffer.read()), formats=["GIF"]) as file:
        mode, size = file.mode, file.size
        frame = io.BytesIO()
        if size[0] * size[1] <= int(sys.argv[1]):
            file.save(frame, "PNG", compress_level=1)
        told = {"frames": getattr(file, "n_frames", 1), "mode": mode, "size": size}
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + frame.getvalue())


if __name__ == "__main__":
    main()
