"""HTML receipts, invoices, forms, tables and letters."""

from collections.abc import Callable

from glance.documents.values import number_in
from tests.foreign.html_sheet import Sheet, e, sides, table

__all__ = ["LAYOUTS", "Sheet"]


def _goods(s: Sheet, n: int) -> tuple[list[str], list[str]]:
    """Items and prices, and questions about them."""
    items = list({s.v.item().text: None for _ in range(n)})
    prices = [s.v.amount(90).text for _ in items]
    i = s.rng.randrange(len(items))
    s.ask("price", prices[i], nouns=f"the price of {items[i]}|the price for {items[i]}")
    s.ask("items", *items)
    amounts = [number_in(p) for p in prices]
    if len(set(amounts)) == len(amounts):
        dearest = items[amounts.index(max(amounts))]
        s.ask("label_of", dearest, nouns="the most expensive item|the most expensive thing")
    return items, prices


def _total(s: Sheet) -> str:
    total = s.v.amount(900).text
    s.ask("total", total)
    return total


def _shop(s: Sheet, address: bool = True) -> tuple[str, str]:
    """A shop's name, and its address in one line each, as markup."""
    name, street, city = s.v.company().text, s.v.street().text, s.v.city().text
    s.ask("merchant", name)
    if not address:
        return name, ""
    s.ask("address", street, city)
    return name, f"<div>{e(street)}</div><div>{e(city)}</div>"


def till(s: Sheet) -> str:
    s.style("body { text-align: center } .list { border-top: 1px dashed #555; margin-top: .5em;")
    s.style("border-bottom: 1px dashed #555; padding: .3em 0; } .sum { font-weight: bold;")
    s.style("font-size: 1.2em; margin: .3em 0; }")
    name, address = _shop(s)
    items, prices = _goods(s, s.rng.randint(3, 6))
    date, time, card = s.v.date().text, s.v.time().text, s.v.code(8, 10).text
    s.ask("date", date)
    s.ask("card", card)
    rows = "".join(sides(i, p) for i, p in zip(items, prices, strict=True))
    return (
        f"<h1>{e(name)}</h1>{address}{sides(date, time)}<div class=list>{rows}</div>"
        f"<div class=sum>{sides(s.rng.choice(('TOTAL', 'Total', 'Sum')), _total(s))}</div>"
        f"{sides('Card', card)}<div>Thank you</div>"
    )


def bistro(s: Sheet) -> str:
    """Left aligned, with a coloured rule and a column of quantities."""
    s.style("h1 { color: @; border-bottom: 3px solid @; padding-bottom: .2em; }")
    s.style("tr:last-child td { border-top: 2px solid @; font-weight: bold; padding-top: .3em; }")
    name, _ = _shop(s, address=False)
    items, prices = _goods(s, s.rng.randint(3, 5))
    counts = [str(s.rng.randint(1, 9)) for _ in items]
    waiter, number = s.v.first_name().text, s.v.code().text
    s.ask("number", number)
    i = s.rng.randrange(len(items))
    s.ask("quantity", counts[i], nouns=f"the quantity of {items[i]}|the number of {items[i]}")
    rows = [[c, i, p] for c, i, p in zip(counts, items, prices, strict=True)]
    rows.append(["", "Total", _total(s)])
    return (
        f"<h1>{e(name)}</h1>{sides(f'Receipt {number}', f'Served by {waiter}')}"
        f"{table(['Qty', 'Item', 'Price'], rows, {2})}<p class=accent>Please come again</p>"
    )


def card_slip(s: Sheet) -> str:
    s.style("body { border: 2px solid #444; border-radius: 10px; } .big { font-size: 20px;")
    s.style("text-align: center; background: #eee; border-radius: 6px; margin: .5em 0; }")
    name, address = _shop(s)
    card, code = s.v.code(8, 10).text, s.v.code(5, 7).text
    date, time = s.v.date().text, s.v.time().text
    s.ask("card", card)
    s.ask("date", date)
    s.ask("time", time)
    s.ask("reference", code)
    return (
        f"<h1>{e(name)}</h1>{address}<div class=big>{e(_total(s))}</div>{sides('Card', card)}"
        f"{sides('Reference', code)}{sides('Date', date)}{sides('Time', time)}"
        f"<p class=c>{s.rng.choice(('PAYMENT ACCEPTED', 'Approved', 'Customer copy'))}</p>"
    )


def classic(s: Sheet) -> str:
    """An invoice with the seller left and its data right."""
    s.style("th { background: @; color: #fff; } td { border-bottom: 1px solid #ccc; }")
    s.style(".sum { text-align: right; font-weight: bold; margin-top: .6em; }")
    seller, customer = s.v.company().text, s.v.person().text
    number, date = s.v.code().text, s.v.date().text
    items, prices = _goods(s, s.rng.randint(2, 4))
    s.ask("invoice", number)
    s.ask("date", date)
    s.ask("seller", seller)
    s.ask("customer", customer)
    rows = [[i, p] for i, p in zip(items, prices, strict=True)]
    return (
        f"<h1 class=accent>Invoice</h1>{sides(seller, number)}{sides(customer, date)}<br>"
        f"{table(['Item', 'Amount'], rows, {1})}<div class=sum>Total {e(_total(s))}</div>"
    )


def band(s: Sheet) -> str:
    """A dark band with the seller, then the bill, then the account."""
    s.style("body { padding: 0 } .band { background: linear-gradient(90deg, @, #333); color: #fff;")
    s.style("padding: 10px 16px; } .in { padding: 8px 16px; } .pay { border: 1px dashed @; }")
    seller, street, city = s.v.company().text, s.v.street().text, s.v.city().text
    number, due, account = s.v.code().text, s.v.date().text, s.v.account().text
    items, prices = _goods(s, s.rng.randint(2, 3))
    s.ask("seller", seller)
    s.ask("invoice", number)
    s.ask("due_date", due)
    s.ask("account", account)
    s.ask("address", street, city)
    rows = "".join(sides(i, p) for i, p in zip(items, prices, strict=True))
    return (
        f"<div class=band><h1>{e(seller)}</h1><div>{e(street)}</div><div>{e(city)}</div></div>"
        f"<div class=in>{sides('Invoice', number)}{sides('Due date', due)}<br>{rows}"
        f"<b>{sides('Total', _total(s))}</b></div><div class='in pay'>{e(account)}</div>"
    )


def tax_bill(s: Sheet) -> str:
    """Two columns on top, and a subtotal, tax and total in a box at the right."""
    s.style(".two { display: flex; gap: 20px; } .two > div { flex: 1; white-space: nowrap; }")
    s.style(".box { margin: .6em 0 0 40%; background: #ececec; padding: 6px; } h3 { margin: 0;")
    s.style(f"font-size: {s.px}px; color: @; }}")
    seller, phone = s.v.company().text, s.v.phone().text
    customer, city = s.v.person().text, s.v.city().text
    items, prices = _goods(s, 2)
    before, tax = s.v.amount(400).text, s.v.amount(90).text
    s.ask("subtotal", before)
    s.ask("tax", tax)
    s.ask("phone", phone)
    s.ask("customer", customer)
    s.ask("seller", seller)
    rows = "".join(sides(i, p) for i, p in zip(items, prices, strict=True))
    return (
        f"<div class=two><div data-region><h3>From</h3>{e(seller)}<br>{e(phone)}</div>"
        f"<div data-region><h3>To</h3>{e(customer)}<br>{e(city)}</div></div>"
        f"<div data-region><hr>{rows}<div class=box>{sides('Subtotal', before)}"
        f"{sides('Tax', tax)}<b>{sides('Total', _total(s))}</b></div></div>"
    )


def _entries(s: Sheet, n: int) -> list[tuple[str, str]]:
    """Labels and entries of a form, and questions about them."""
    v = s.v
    known = [
        ("Name", "name", v.person),
        ("Date of birth", "birth", v.date),
        ("Street", "street", v.street),
        ("Phone", "phone", v.phone),
        ("Email", "email", v.email),
        ("Reference", "reference", v.code),
        ("Account", "account", v.account),
        ("Employer", "employer", v.company),
        ("Valid until", "valid", v.date),
        ("Contact", "contact", v.person),
    ]
    found = []
    for label, type_, make in s.rng.sample(known, n):
        text = make().text
        s.ask(type_, text)
        found.append((label, text))
    return found


def dotted(s: Sheet) -> str:
    """A form with entries on dotted lines."""
    s.style(".row { display: flex; margin: .35em 0; white-space: nowrap; } .row b { width: 38%; }")
    s.style(
        ".row span { flex: 1; border-bottom: 2px dotted #888; font-family: 'Courier Prime Code'; }"
    )
    rows = "".join(
        f"<div class=row><b>{label}</b><span>{e(text)}</span></div>"
        for label, text in _entries(s, s.rng.randint(4, 7))
    )
    title = s.v.headline(2, 3).text
    s.ask("title", title)
    return f"<h1>{e(title)}</h1>{rows}"


def boxes(s: Sheet) -> str:
    """A form of bordered boxes, each a label over its entry."""
    s.style(".box { border: 1px solid #777; padding: 3px 6px; margin-bottom: -1px; }")
    s.style(".box div:first-child { color: @; } h1 { background: @; color: #fff; padding: 4px; }")
    s.style(".box div { white-space: nowrap; }")
    rows = "".join(
        f"<div class=box><div>{label}</div><div>{e(text)}</div></div>"
        for label, text in _entries(s, s.rng.randint(3, 5))
    )
    title = s.rng.choice(("Registration", "Application", "Member record", "Visitor pass"))
    return f"<h1>{title}</h1>{rows}"


def ticks(s: Sheet) -> str:
    """A form with radio buttons or check boxes, one of them ticked."""
    s.style("fieldset { border: 1px solid @; margin: .6em 0; } legend { color: @; }")
    s.style("input { margin: 0 8px 0 0; vertical-align: middle; } label { display: block; }")
    options = list({s.v.item().text: None for _ in range(s.rng.randint(3, 4))})
    ticked = s.rng.randrange(len(options))
    s.ask("ticked", options[ticked])
    s.ask("options", *options)
    kind = s.rng.choice(("radio", "checkbox"))
    boxed = "".join(
        f"<label><input type={kind} {'checked' if i == ticked else ''}>{e(o)}</label>"
        for i, o in enumerate(options)
    )
    rows = "".join(sides(f"{label}:", text) for label, text in _entries(s, s.rng.randint(2, 4)))
    legend = s.rng.choice(("Choose one", "Your order", "Delivery"))
    return f"<h1>Order form</h1>{rows}<fieldset><legend>{legend}</legend>{boxed}</fieldset>"


def _grid(s: Sheet, columns: int, n: int) -> tuple[list[str], list[list[str]]]:
    """Headings and rows, and questions about a row, a column and a cell."""
    head = [v.text for v in s.v.labels(columns)]
    names = [v.text for v in s.v.labels(n)]
    make = s.rng.choice((s.v.count, s.v.amount, s.v.percent, s.v.code))
    rows = [[name, *(make().text for _ in range(columns - 1))] for name in names]
    i, k = s.rng.randrange(n), s.rng.randrange(1, columns)
    s.ask(
        "cell", rows[i][k], nouns=f"the {head[k]} of {names[i]}|the entry for {names[i]}, {head[k]}"
    )
    s.ask("columns", *head)
    j = s.rng.randrange(n)
    s.ask("row", *rows[j], nouns=f"the row of {names[j]}|all entries in the row {names[j]}")
    s.ask("column", *names, nouns=f"the column {head[0]}|all entries under {head[0]}")
    return head, rows


def zebra(s: Sheet) -> str:
    s.style("tr:nth-child(even) { background: #e4e9f0; } th { border-bottom: 2px solid @; }")
    columns = s.rng.randint(2, 4)
    head, rows = _grid(s, columns, s.rng.randint(4, 7))
    title = s.v.headline(2, 3).text
    s.ask("title", title)
    return f"<h1 class=accent>{e(title)}</h1>{table(head, rows, set(range(1, columns)))}"


def ruled(s: Sheet) -> str:
    """A table with all borders, its caption below."""
    s.style("td, th { border: 1px solid #555; } th { background: #ddd; text-align: center; }")
    s.style("caption { caption-side: bottom; text-align: left; padding-top: 6px; }")
    columns = s.rng.randint(3, 4)
    head, rows = _grid(s, columns, s.rng.randint(4, 6))
    source = s.v.company().text
    s.ask("source", source)
    below = f"<caption>Source: {e(source)}</caption>"
    return table(head, rows, {columns - 1}).replace("</tbody>", "</tbody>" + below)


def ledger(s: Sheet) -> str:
    """Dates, entries and amounts, and a balance at the foot."""
    s.style("tr:last-child td { border-top: 3px double #333; font-weight: bold; }")
    s.style("th { font-style: italic; font-weight: normal; color: @; }")
    n = s.rng.randint(3, 6)
    rows = [[s.v.date().text, s.v.item().text, s.v.amount().text] for _ in range(n)]
    i, j, k = (s.rng.randrange(n) for _ in range(3))
    s.ask("cell", rows[i][2], nouns=f"the amount for {rows[i][1]}|the amount of {rows[i][1]}")
    s.ask("cell", rows[j][0], nouns=f"the date of {rows[j][1]}|the date for {rows[j][1]}")
    s.ask("row", *rows[k], nouns=f"the row of {rows[k][1]}|all of the row with {rows[k][1]}")
    if len({row[1] for row in rows}) == n:
        s.ask("column", *(row[1] for row in rows), nouns="the column Entry|all entries under Entry")
    balance = s.v.amount(900).text
    s.ask("fact", balance, nouns="the balance|the amount of the balance")
    rows.append(["", "Balance", balance])
    return table(["Date", "Entry", "Amount"], rows, {2})


def business(s: Sheet) -> str:
    s.style(".head { text-align: right; color: @; } p { text-align: justify; margin: .7em 0; }")
    sender, city = s.v.company().text, s.v.city().text
    date, person = s.v.date().text, s.v.person().text
    subject, body = s.v.words(2, 4).text, s.v.sentence(10, 16).text
    name = s.v.person().text
    s.ask("sender", sender)
    s.ask("date", date)
    s.ask("subject", subject)
    s.ask("signature", name)
    s.ask("recipient", person)
    return (
        f"<div class=head><h1>{e(sender)}</h1><div>{e(city)}</div><div>{e(date)}</div></div>"
        f"<p><b>{e(subject)}</b></p><p>Dear {e(person)},</p>"
        f"<p>{e(body[0].upper() + body[1:])}.</p><p>Yours sincerely,</p><p><i>{e(name)}</i></p>"
    )


def memo(s: Sheet) -> str:
    """From, to, date and subject in a tinted block, then the text."""
    s.style(".top { background: #eef2e6; border-left: 5px solid @; padding: 6px 10px; }")
    s.style(".top b { display: inline-block; width: 5em; } p { margin-top: .8em; }")
    s.style(".top div { white-space: nowrap; }")
    sender, person, date = s.v.person().text, s.v.person().text, s.v.date().text
    subject, code = s.v.words(2, 3).text, s.v.code().text
    body = s.v.sentence(9, 14).text
    s.ask("sender", sender)
    s.ask("recipient", person)
    s.ask("date", date)
    s.ask("subject", subject)
    s.ask("reference", code)
    text = f"{body[0].upper()}{body[1:]}."
    s.ask("body", text)
    pairs = (("From", sender), ("To", person), ("Date", date), ("Subject", subject), ("Ref", code))
    rows = "".join(f"<div><b>{label}</b> {e(entry)}</div>" for label, entry in pairs)
    return f"<h1>Memo</h1><div class=top>{rows}</div><p>{e(text)}</p>"


LAYOUTS: dict[str, tuple[str, Callable[[Sheet], str]]] = {
    "till": ("receipt", till),
    "bistro": ("receipt", bistro),
    "card_slip": ("receipt", card_slip),
    "classic": ("invoice", classic),
    "band": ("invoice", band),
    "tax_bill": ("invoice", tax_bill),
    "dotted": ("form", dotted),
    "boxes": ("form", boxes),
    "ticks": ("form", ticks),
    "zebra": ("table", zebra),
    "ruled": ("table", ruled),
    "ledger": ("table", ledger),
    "business": ("letter", business),
    "memo": ("letter", memo),
}
