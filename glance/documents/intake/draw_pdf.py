"""Draws one page of a PDF: a program of its own that takes the file from standard input.

python draw_pdf.py PAGE DPI MAX_PIXELS < FILE

PDFium is a large program that reads what strangers made, and it serves one thread at a time. In
a process of its own a file that crashes it, or wants more memory or time than a page should,
costs one reader one page. Nothing is written to disk.

To standard output: a line of JSON, {"error"}, {"pages"} or, where there is such a page,
{"pages", "width", "height"}; then its pixels, RGB, each row perhaps padded.
"""

import json
import math
import sys

import pypdfium2
from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY

MEMORY = 2_000_000_000  # bytes of address space: the file, its images, a page of 40 megapixels


def main() -> None:
    """Read the arguments and the file; answer."""
    page, dpi, most = map(int, sys.argv[1:])
    _limit_memory()
    try:
        told, pixels = _draw(sys.stdin.buffer.read(), page, dpi, most)
    except pypdfium2.PdfiumError as error:
        locked = error.err_code in (FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY)
        told, pixels = {"error": "locked" if locked else "damaged"}, b""
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + pixels)


def _draw(data: bytes, page: int, dpi: int, most: int) -> tuple[dict, bytes]:
    pdf = pypdfium2.PdfDocument(data)
    pdf.init_forms()  # what was filled in is drawn too
    told = {"pages": len(pdf)}
    if not told["pages"]:
        return {"error": "damaged"}, b""
    if not 1 <= page <= told["pages"]:
        return told, b""
    sheet = pdf[page - 1]
    width, height = sheet.get_size()  # in points, 72 an inch
    scale = min(dpi / 72, math.sqrt(most / (width * height)))
    bitmap = sheet.render(scale=scale, rev_byteorder=True)
    return {**told, "width": bitmap.width, "height": bitmap.height}, bytes(bitmap.buffer)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main()
