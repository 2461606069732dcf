"""Short business letters: sender, recipient, reference, sentences with values in them."""

from glance.documents.layout import Align, Cell, Draft
from glance.documents.values import Values

SIZES = ((364, 336), (392, 364), (336, 392), (364, 280))


def draft(v: Values, room: float) -> Draft:
    """`room` in 0..1: how full the page may be."""
    d, r = Draft(), v.rng
    right: Align = "right" if r.random() < 0.4 else "left"
    d.add(d.cell(v.company(), "sender"), align=right)
    d.ask("sender", "the sender|the company that wrote", "sender")
    if r.random() < 0.35 + 0.4 * room:
        d.add(d.cell(v.date(), "date"), align=right)
        d.ask("date", "the date|the date of the letter", "date")
    recipient = v.person()
    d.add(d.cell(recipient, "recipient"), gap=0.5)
    d.ask("recipient", "the recipient|the addressee", "recipient")
    if r.random() < 0.7:
        d.add(d.cell(v.street(), "street"))
        d.add(d.cell(v.city(), "city"))
        d.ask("address", "the address|the full address|the recipient's address", "street", "city")
    if r.random() < 0.6:
        d.add("Ref:", d.cell(v.code(), "reference"), gap=0.3)
        d.ask("reference", "the reference|the reference number", "reference")
    d.add(f"Dear {recipient.text.split()[0]},", gap=0.4)
    openers = [
        ("Thank you for your order", v.code, "order", "the order number|the order"),
        ("We have sent you", v.item, "goods", "the goods sent|what was sent"),
        ("The amount due is", v.amount, "due", "the amount due|the sum to pay"),
        ("Please pay by", v.date, "deadline", "the payment date|the deadline"),
        ("You can call us on", v.phone, "phone", "the phone number|the number to call"),
        ("Your new contact is", v.person, "contact", "the new contact|the contact"),
        ("Write to us at", v.email, "email", "the email address|the e-mail"),
        ("The goods left", v.street, "depot", "the place the goods left|the depot"),
    ]
    r.shuffle(openers)
    for i, (opener, make, key, nouns) in enumerate(openers[: r.randint(1, 1 + round(3 * room))]):
        d.add(Cell(opener), d.cell(make(), key), align="wrap", gap=0.0 if i else 0.3)
        d.ask(key, nouns, key)
    d.add(r.choice(("Yours sincerely,", "Kind regards,", "Best wishes,")), gap=0.3)
    d.add(d.cell(v.person(), "signature"))
    d.ask("signature", "the signature|the person who signed", "signature")
    return d
