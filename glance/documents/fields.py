"""What pages can be asked for: every question type and the ways to name it.

Kinds ask by type. A type that a page does not have makes a question whose answer is "not on the
page". Names that depend on the page ("the price of tea") are given by the layout itself.
"""

NOT_THERE = "not on the page"

FIELDS: dict[str, str] = {
    # people and places
    "name": "the name|the full name",
    "merchant": "the merchant|the shop name|the name of the shop",
    "sender": "the sender|the company that wrote",
    "recipient": "the recipient|the addressee",
    "customer": "the customer|the name of the customer",
    "seller": "the seller|the company that sells",
    "contact": "the contact person|the contact",
    "employer": "the employer|the company",
    "signature": "the signature|the person who signed",
    "address": "the address|the full address",
    "phone": "the phone number|the telephone number",
    "email": "the email address|the e-mail",
    "website": "the website|the web address",
    "depot": "the depot|the place the goods left",
    "street": "the street|the name of the street",
    "age": "the age|the age given",
    "blood": "the blood group|the blood type",
    "size": "the size|the size given",
    "weight": "the weight|the weight given",
    "room": "the room|the room number",
    "seat": "the seat|the seat number",
    # numbers and dates
    "number": "the receipt number|the number of the receipt",
    "invoice": "the invoice number|the number of the invoice",
    "reference": "the reference|the reference number",
    "order": "the order number|the order",
    "account": "the account number|the IBAN",
    "card": "the card number|the number of the card",
    "tax_number": "the tax number|the VAT number",
    "guests": "the number of guests|the number of persons",
    "share": "the percentage|the share in percent",
    "date": "the date|the date shown",
    "due_date": "the due date|the payment deadline",
    "birth": "the date of birth|the birth date",
    "valid": "the expiry date|the date it expires",
    "time": "the time|the time shown",
    # money
    "total": "the total|the total amount|the sum",
    "subtotal": "the subtotal|the amount before tax",
    "tax": "the tax|the tax amount",
    "paid": "the amount paid|the cash given",
    "change": "the change|the change given",
    "fee": "the fee|the amount of the fee",
    "due": "the amount due|the sum to pay",
    "price": "",
    "quantity": "",
    # lists
    "items": "the list of items|all items|the items bought",
    "prices": "all items with their prices|the items and prices",
    "ticked": "the ticked box|the option that is ticked",
    "options": "all options|the list of options",
    "details": "",
    "entries": "all entries with their labels|every label with its entry",
    # tables, charts, infographics, signs
    "title": "the title|the heading",
    "columns": "the column headings|the names of the columns",
    "row": "",
    "column": "",
    "cell": "",
    "label_of": "",
    "value_of": "",
    "highest": "the label with the highest value|the largest one",
    "lowest": "the label with the lowest value|the smallest one",
    "all_values": "all labels with their values|every label and value",
    "labels": "all labels|the list of labels",
    "axis": "the name of the axis|the label of the axis",
    "unit": "the unit|the unit of the values",
    "source": "the source|the source of the data",
    "caption_of": "",
    "fact": "",
    "message": "the message|the words on the sign",
    "hours": "the opening hours|the opening times",
    "goods": "the goods sent|what was sent",
    "subject": "the subject|the subject of the letter",
    "body": "the body of the letter|the text of the letter",
    "statement": "",
}


def nouns_of(type_: str) -> tuple[str, ...]:
    """The fixed names of a type.

    Raises KeyError for a type that is not listed, ValueError for one whose name the page decides.
    """
    names = FIELDS[type_]
    if not names:
        raise ValueError(f"{type_} has no fixed name: give nouns")
    return tuple(names.split("|"))


#: Types that could be mistaken for one another; none of a group's is "not on the page" when the
#: page has another of them.
KIN = (
    ("name", "recipient", "customer", "contact", "signature"),
    ("merchant", "sender", "seller", "employer"),
    ("address", "depot", "street"),
    ("phone",),
    ("email",),
    ("website", "source"),
    ("number", "invoice", "reference", "order"),
    ("account",),
    ("card",),
    ("tax_number",),
    ("date", "due_date", "valid"),
    ("birth",),
    ("time", "hours"),
    ("total", "subtotal", "tax", "paid", "change", "fee", "due"),
    ("items", "prices", "goods"),
    ("ticked", "options"),
    ("unit",),
    ("subject",),
)


def absent_types(present: set[str]) -> list[str]:
    """Types that a page with the types `present` certainly does not have."""
    return [type_ for kin in KIN if not present & set(kin) for type_ in kin]
