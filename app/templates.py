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
</div>
"""

DOCUMENT = """
<div class="g-stand"><div class="g-frame"><img alt=""><svg viewBox="0 0 1 1"
 preserveAspectRatio="none" aria-hidden="true"></svg></div>
<p class="g-hint">No page yet: drop a file below, or pick an example.</p></div>
<p class="g-caption"></p>
"""

RACE = """
<div class="g-row"><h2>Race</h2><span class="g-origin"></span>
<span class="g-buttons">
<button type="button" class="g-button g-slow">Slow motion</button>
<button type="button" class="g-button g-real">Real speed</button>
<button type="button" class="g-button g-skip">Show all</button></span></div>
<p class="g-explain">Run one after the other, drawn on one clock that starts when the page has been
read. A bar is one pass of the model over the text; its number is how many tokens it wrote.</p>
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
<li class="g-target"><span>target</span>, one by one</li></ul></div>
<div class="g-strips"></div>
<p class="g-hint">Run the question to see the answers.</p>
<p class="g-live" aria-live="polite"></p>
"""

SCRUBBER = """
<h2>Round by round</h2>
<div class="g-scrub">
<button type="button" class="g-button g-prev" aria-label="Previous round">&lsaquo;</button>
<input type="range" min="1" max="1" value="1" step="1" aria-label="Round">
<button type="button" class="g-button g-next" aria-label="Next round">&rsaquo;</button>
<span class="g-round-label"></span>
<button type="button" class="g-button g-back" hidden>Back to live</button></div>
"""

EXPORT = '<button type="button" class="g-button">Download trace.jsonl</button>'
