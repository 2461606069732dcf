"""One file a kind of document; each offers SIZES (width, height) in px and draft(values, room)."""

from glance.documents.kinds import form, letter, receipt

KINDS = {"receipt": receipt, "form": form, "letter": letter}
