"""Till receipts: merchant, address, items with prices, total, payment."""

from glance.documents.layout import Align, Draft
from glance.documents.values import Values

SIZES = ((224, 336), (252, 364), (280, 392), (280, 308))


def draft(v: Values, room: float) -> Draft:
    """`room` in 0..1: how full the page may be."""
    d, r = Draft(), v.rng
    centre = r.random() < 0.6
    align: Align = "center" if centre else "left"
    d.add(d.cell(v.company(), "merchant"), align=align)
    d.ask("merchant", "the merchant|the shop name|the name of the shop", "merchant")
    if r.random() < 0.8:
        d.add(d.cell(v.street(), "street"), align=align)
        d.add(d.cell(v.city(), "city"), align=align)
        d.ask("address", "the address|the full address|the shop address", "street", "city")
    if r.random() < 0.4:
        d.add("Tel", d.cell(v.phone(), "phone"), align=align)
        d.ask("phone", "the phone number|the telephone number", "phone")
    d.add(d.cell(v.date(), "date"), d.cell(v.time(), "time"), align="split", gap=0.3)
    d.ask("date", "the date|the date of purchase", "date")
    d.ask("time", "the time|the time of purchase", "time")
    if r.random() < 0.7:
        label = r.choice(("No.", "Receipt", "Bill no.", "Ref"))
        d.add(label, d.cell(v.code(), "number"), align="split")
        d.ask("number", "the receipt number|the number of the receipt", "number")
    keys = []
    for i in range(r.randint(2, 2 + round(5 * room))):
        item, price = v.item(), v.amount(60)
        d.add(
            d.cell(item, f"item{i}"),
            d.cell(price, f"price{i}"),
            align="split",
            gap=0.4 if i == 0 else 0.0,
            rule=i == 0,
        )
        keys.append(f"item{i}")
        if i < 2:
            d.ask("price", f"the price of {item.text}|the price for {item.text}", f"price{i}")
    d.ask("items", "the list of items|all items|the items bought", *keys)
    d.add(r.choice(("Total", "TOTAL", "Sum")), d.cell(v.amount(), "total"),
          align="split", gap=0.4, rule=True)  # fmt: skip
    d.ask("total", "the total|the total amount|the sum", "total")
    if r.random() < 0.5:
        d.add(r.choice(("Card", "CARD")), d.cell(v.code(8, 10), "card"), align="split")
        d.ask("card", "the card number|the number of the card", "card")
    if r.random() < 0.4:
        d.add(r.choice(("Thank you", "Please call again", "Goodbye")), align=align, gap=0.4)
    return d
