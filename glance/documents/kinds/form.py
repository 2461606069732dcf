"""Filled-in forms: a title and label-value pairs in three layouts."""

from glance.documents.layout import Align, Draft
from glance.documents.values import Values

SIZES = ((364, 280), (392, 308), (308, 308), (336, 392))

_TITLES = ("Registration", "Application form", "Patient record", "Order form", "Member details")


def draft(v: Values, room: float) -> Draft:
    """`room` in 0..1: how full the page may be."""
    d, r = Draft(), v.rng
    fields = [
        ("name", ("Name", "Full name"), v.person, "the name|the full name"),
        ("birth", ("Born", "Date of birth"), v.date, "the date of birth|the birth date"),
        ("phone", ("Phone", "Tel"), v.phone, "the phone number|the telephone number"),
        ("email", ("Email", "E-mail"), v.email, "the email address|the e-mail"),
        ("account", ("Account", "IBAN"), v.account, "the account number|the IBAN"),
        ("reference", ("Ref", "Reference"), v.code, "the reference|the reference number"),
        ("employer", ("Employer", "Company"), v.company, "the employer|the company"),
        ("fee", ("Fee", "Amount"), v.amount, "the fee|the amount"),
        ("valid", ("Valid until", "Expires"), v.date, "the expiry date|the date it expires"),
        ("contact", ("Contact", "Next of kin"), v.person, "the contact person|the contact"),
    ]
    r.shuffle(fields)
    layout = r.choice(("split", "left", "above"))
    side: Align = "split" if layout == "split" else "left"
    colon = r.choice((":", ""))
    d.add(r.choice(_TITLES), align=r.choice(("left", "center")))
    count = r.randint(2, 2 + round((5 if layout != "above" else 2) * room))
    address_at = r.randint(0, count) if r.random() < 0.7 else -1
    framed = r.random() < 0.25 and layout == "left"
    for i in range(count):
        if i == address_at:
            label = r.choice(("Address", "Home address"))
            street, city = d.cell(v.street(), "street"), d.cell(v.city(), "city")
            d.add(label + colon, *(() if layout == "above" else (street,)),
                  align=side, gap=0.3)  # fmt: skip
            if layout == "above":
                d.add(street)
            d.add(city, align="right" if layout == "split" else "left")
            d.ask("address", "the address|the full address|the home address", "street", "city")
        key, labels, make, nouns = fields[i]
        label, cell = r.choice(labels) + colon, d.cell(make(), key)
        if layout == "above":
            d.add(label, gap=0.3)
            d.add(cell)
        else:
            d.add(label, cell, align=side, gap=0.25,
                  frame=framed, rule=layout == "split" and r.random() < 0.3)  # fmt: skip
        d.ask(key, nouns, key)
    return d
