"""The constant HTML of the regions: structure and standing words, nothing from a document."""

from __future__ import annotations

STATUS = """
<div class="g-brand">
  <h1>GLANCE</h1>
  <p>One model answers a question about a page twice: token by token, and with a drafter that
  proposes a whole block for it to check in one pass. The answers are the same; the passes are
  fewer.</p>
</div>
<div class="g-tools">
  <span class="g-chip-status" role="status"></span>
  <button type="button" class="g-button g-theme" aria-label="Switch between light and dark">
    Light / dark</button>
  <button type="button" class="g-button g-tour-open" hidden>Tour</button>
</div>
"""

DOCUMENT = """
<div class="g-stand"><div class="g-frame" role="group"
 aria-label="Places on the page. Arrow keys go through them."><img alt=""><svg viewBox="0 0 1 1"
 preserveAspectRatio="none" aria-hidden="true"></svg></div>
<div class="g-frame g-second" hidden></div>
<p class="g-hint">No page yet: drop a file below, or pick an example.</p></div>
<p class="g-place"></p>
<p class="g-caption"></p>
"""

PAGES = """
<form>
<p class="g-several">
<button type="button" class="g-button" data-by="-1" aria-label="Previous page">&lsaquo;</button>
<label>Page <input type="number" name="page" min="1" step="1" required></label>
<span class="g-of"></span>
<button type="button" class="g-button" data-by="1" aria-label="Next page">&rsaquo;</button>
<label>and page <input type="number" name="second" min="1" step="1" placeholder="none"></label></p>
<details><summary>Ask about a part of the page</summary>
<p>Drag over the page, or give the sides of the part in percent of the page.</p>
<p class="g-sides">
<label>left <input type="number" name="left" min="0" max="100" step="any" required></label>
<label>top <input type="number" name="top" min="0" max="100" step="any" required></label>
<label>right <input type="number" name="right" min="0" max="100" step="any" required></label>
<label>bottom <input type="number" name="bottom" min="0" max="100" step="any" required></label>
<button type="submit" class="g-button">Crop</button></p></details>
<button type="button" class="g-button g-whole" hidden>Show the whole page</button></form>
"""

INTAKE = """
<button type="button" class="g-button g-camera" hidden>Take a photo</button>
<input type="file" accept="image/*" capture="environment" hidden>
<p>Nothing is kept: a file is deleted as soon as it has been read, its pages are forgotten when you
close this tab. The trace of a run, its words without the picture, is gone after ten minutes.</p>
"""

TALK = """
<h3 hidden>Earlier questions</h3>
<ol tabindex="0" aria-label="Earlier questions and their answers" hidden></ol>
<p><button type="button" class="g-button g-again" hidden>Ask again about this page</button>
<button type="button" class="g-button g-anew" hidden>New conversation</button></p>
"""

RACE = """
<div class="g-row"><h2>Race</h2><span class="g-origin"></span>
<span class="g-buttons">
<button type="button" class="g-button g-slow">Slow motion</button>
<span class="g-rates" role="group" aria-label="Replay speed">
<button type="button" class="g-button g-quarter">0.25&times;</button>
<button type="button" class="g-button g-real">1&times;</button>
<button type="button" class="g-button g-skip">instant</button></span></span></div>
<p class="g-explain">Run one after the other, drawn on one clock that starts when the page has been
read. A bar is one pass of the model over the text; its number is how many tokens it wrote;
the hatched start of a lane is its first draft.</p>
<div class="g-lanes"></div>
<div class="g-below"><span class="g-speed" role="status"></span>
<div class="g-axis" aria-hidden="true"></div></div>
"""

SUMMARY = """
<div class="g-row"><span class="g-badge"></span><span class="g-badge-detail"></span></div>
<p class="g-headline"></p>
<dl class="g-facts"></dl>
"""

ANSWERS = """
<div class="g-row"><h2>Answers</h2>
<ul class="g-legend">
<li class="g-drafted"><span>drafted</span>, accepted</li>
<li class="g-bonus"><span>bonus</span> after a full block</li>
<li class="g-corrected"><span>corrected</span> by the target</li>
<li class="g-target"><span>target</span>, one by one</li>
<li class="g-copied" hidden><span>copied</span> off the page</li></ul></div>
<div class="g-strips"></div>
<p class="g-hint">Run the question to see the answers.</p>
<p class="g-live" aria-live="polite"></p>
"""

SCRUBBER = """
<h2>Round by round</h2>
<div class="g-scrub">
<button type="button" class="g-button g-play">Play</button>
<button type="button" class="g-button g-first-round" aria-label="First round">&laquo;</button>
<button type="button" class="g-button g-prev" aria-label="Previous round">&lsaquo;</button>
<input type="range" min="1" max="1" value="1" step="1" aria-label="Round">
<button type="button" class="g-button g-next" aria-label="Next round">&rsaquo;</button>
<button type="button" class="g-button g-last-round" aria-label="Last round">&raquo;</button>
<span class="g-round-label"></span>
<button type="button" class="g-button g-back" hidden>Back to live</button></div>
<p class="g-keys">Keys, while no field or button has the focus: <kbd>&larr;</kbd> <kbd>&rarr;</kbd>
round before and after, <kbd>Home</kbd> <kbd>End</kbd> first and last, <kbd>Space</kbd> slow motion,
pause and on. In an answer or on the page the arrows go by token, by place.</p>
"""

WHICH = """
<fieldset hidden><legend>Rounds of</legend></fieldset>
"""

EXPORT = """
<details class="g-menu"><summary class="g-button">Export</summary>
<div class="g-panel" role="group" aria-label="Export">
<label><input type="checkbox"> Put the picture of the page into replay.html and trace.jsonl</label>
<button type="button" data-file="replay.html"><b>replay.html</b>
this run as a page of its own, for any browser, offline</button>
<button type="button" data-file="trace.jsonl"><b>trace.jsonl</b>
every event of the run</button>
<button type="button" data-file="rounds.csv"><b>rounds.csv</b>
a table, one row a round</button>
<button type="button" data-file="tree.svg"><b>tree.svg</b>
the candidate tree as drawn</button>
<button type="button" data-file="tree.png"><b>tree.png</b>
the same in pixels</button></div></details>
<span class="g-told" role="status"></span>
"""

LINK = """
<button type="button" class="g-button">Copy link</button>
<span class="g-told" role="status"></span>
"""


def _view(title: str, twin: str, button: str = "") -> str:
    return (
        f'<div class="g-row"><h3>{title}</h3>{button}</div>'
        '<p class="g-plot-caption"></p>'
        '<div class="g-plot-frame"><div class="g-plot"></div></div>'
        f'<details><summary>{twin}</summary><div class="g-twin" tabindex="0"></div></details>'
    )


JUMP = '<button type="button" class="g-button g-jump">Jump to the most uncertain token</button>'
VIEWS = {
    "tree": _view("Candidate tree", "The tree as a list"),
    "prefix": _view("Accepted prefix", "As a table"),
    "entropy": _view("Entropy per token", "As a table", JUMP),
}

_RUN_TABS = {
    "acceptance": ("Acceptance", _view("Accepted drafted tokens a round", "As a table")),
    "law": ("Entropy law", _view("Entropy law", "As a table")),
    "stages": ("Time per round", _view("Milliseconds a round, by stage", "As a table")),
}
_STUDY = '<h3>Measured over many pages</h3><div class="g-sections">Reading the results…</div>'


def tabs(views: dict[str, tuple[str, str]]) -> str:
    """Views of which one is open, each with the name of its tab."""
    heads = "".join(
        f'<button type="button" role="tab" class="g-button" id="g-tab-{kind}" '
        f'aria-controls="g-panel-{kind}" data-kind="{kind}">{name}</button>'
        for kind, (name, _) in views.items()
    )
    panels = "".join(
        f'<div role="tabpanel" class="g-view g-{kind}" id="g-panel-{kind}" '
        f'aria-labelledby="g-tab-{kind}" hidden>{inner}</div>'
        for kind, (_, inner) in views.items()
    )
    return f'<div class="g-tablist" role="tablist" aria-label="The whole run">{heads}</div>{panels}'


TABS = tabs({**_RUN_TABS, "study": ("Study", _STUDY)})


def root(kind: str, inner: str, attributes: str = "") -> str:
    """The root element of a region, which its script looks for."""
    return f'<div class="g-root g-{kind}" {attributes}>{inner}</div>'


def _placed(kind: str, inner: str, classes: str = "") -> str:
    return f'<div id="g-{kind}" class="g-region {classes}">{root(kind, inner)}</div>'


_NO_PICTURE = "The picture of the page is not part of this file."
_SHOWN = DOCUMENT.replace("No page yet: drop a file below, or pick an example.", _NO_PICTURE)

#: the body of a replay file: the page without what needs a server
REPLAY = f"""
<div class="gradio-container"><main>
<noscript>This file draws a recorded run with JavaScript, which is switched off here.</noscript>
{_placed("status", STATUS)}
{_placed("channel", "")}
<div class="g-top">
<section class="g-card g-ask">
{_placed("document", _SHOWN)}
<h2>Question</h2><p class="g-asked"></p>
{_placed("state", "")}</section>
<div class="g-right">
<section class="g-card">{_placed("race", RACE)}{_placed("summary", SUMMARY)}</section>
<section class="g-card">{_placed("answers", ANSWERS)}</section></div></div>
<section class="g-card g-rounds">
{_placed("scrubber", SCRUBBER)}
{_placed("which", WHICH)}
{_placed("tree", VIEWS["tree"], "g-view")}
<div class="g-pair">
{_placed("prefix", VIEWS["prefix"], "g-view")}
{_placed("entropy", VIEWS["entropy"], "g-view")}</div>
{_placed("tabs", tabs(_RUN_TABS))}</section>
</main></div>
"""
