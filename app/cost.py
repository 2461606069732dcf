"""What a run is likely to cost on this machine, said before it starts. No torch."""

from __future__ import annotations

from app.held import Held
from app.host import Host
from app.session import TARGET
from app.settings import NO_LANE
from app.views.summary import SHORT
from glance.limits import limits_of

SHORT_ANSWER = 15  # tokens: a sum, a date, a name
AFTERWARDS = 2  # more readings after the lanes, of the page and of a blank one: the grounding


def hint(host: Host, held: Held | None, first: str, second: str, max_tokens: float | None) -> str:
    """What the page holds, and how long a short and a long answer would take; "" without a page.

    Args:
        held: the page or two that the question is about.
        first, second: the lanes.
        max_tokens: of the answer.
    """
    geometry = limits_of(TARGET).geometry
    if held is None or held.is_forgotten or geometry is None or not max_tokens:
        return ""
    visual = sum(geometry.visual_tokens(each.image.size) for each in held.documents)
    text = f", about {round(held.characters, -1)} characters" if held.characters else ""
    page = f"{visual:,} visual tokens{text}."
    lanes = {name for name in (first, second) if name != NO_LANE}
    times = _times(host, lanes, visual)
    if times is None:
        return f"{page} How long a run takes here is not known yet."
    reading, a_token = times
    most = int(min(held.characters or max_tokens, max_tokens))
    short = min(SHORT_ANSWER, most)
    whole = "all its text" if most == held.characters else f"{most} tokens"
    drafts = lanes != {"ar"}
    gains = f" Answers under {SHORT} tokens are too short to gain from drafts." if drafts else ""
    return (
        f"{page} On this machine about {_seconds(reading + short * a_token)} for a short answer, "
        f"{_seconds(reading + most * a_token)} for {whole}.{gains}"
    )


def _times(host: Host, lanes: set[str], visual: int) -> tuple[float, float] | None:
    """Milliseconds of reading, and of all lanes together a token of the answer."""
    read, plain = host.read_ms(), host.write_ms("ar")
    # a drafter that has not run here yet is taken to gain nothing
    each = [host.write_ms(lane) or plain for lane in lanes]
    known = [ms for ms in each if ms is not None]
    if read is None or len(known) < len(lanes):
        return None
    return read * visual * (len(lanes) + AFTERWARDS), sum(known)


def _seconds(ms: float) -> str:
    return f"{max(ms, 100) / 1000:.1f} s"
