"""One file a kind of document.

Each offers TASK (of its questions), SIZES (width, height) in px, LAYOUTS (name -> function that
draws on a sheet) and HELD_OUT (the layout that only validation, and only test pages have).
"""

from typing import Any

from glance.documents.kinds import chart, form, infographic, invoice, letter, receipt, sign, table

KINDS: dict[str, Any] = {
    "receipt": receipt,
    "invoice": invoice,
    "form": form,
    "table": table,
    "chart": chart,
    "infographic": infographic,
    "letter": letter,
    "sign": sign,
}
