// Where the answer's tokens stand on the page. Known glyphs come first, then the line of text that
// a span was copied from; the patch that an attention head looks at is a guess, and says so.
(() => {
  "use strict";
  const G = window.GLANCE;
  if (G.places) return;
  let glyphs = new Map(), follows = -1;

  // A round's text is looked for on the page, first where the one before it ended.
  const locate = (step) => {
    const { ink, boxes } = G.page?.glyphs || {};
    if (!ink || step.lane !== G.trace.told()) return;
    const tokens = step.lane.tokens.slice(step.from, step.to).filter((each) => each.text.trim());
    const text = tokens.map((each) => each.text).join("");
    if (!text) return;
    let at = ink.startsWith(text, follows) && follows >= 0 ? follows : text.length >= 4 ? ink.indexOf(text) : -1;
    follows = -1;
    if (at < 0) return;
    for (const each of tokens) {
      glyphs.set(each.index, boxes.slice(at, at + each.text.length));
      at += each.text.length;
    }
    follows = at;
  };
  const restart = () => { glyphs = new Map(); follows = -1; };

  const spanOf = (index) => G.trace.copies.find(({ tokens: [from, to] }) => from <= index && index < to);
  const inside = ([x0, y0, x1, y1], [x, y]) => x0 <= x && x <= x1 && y0 <= y && y <= y1;
  const middle = ([x0, y0, x1, y1]) => [(x0 + x1) / 2, (y0 + y1) / 2];
  const range = (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);

  // {boxes, source, approximate, share} of a token of the drafting lane, or null.
  const of = (index) => {
    const span = spanOf(index);
    if (glyphs.has(index)) return { boxes: glyphs.get(index), source: "layout", approximate: false };
    if (span) return { boxes: span.boxes, source: span.source, approximate: !!span.approximate };
    const box = G.trace.looks?.box?.[index];
    return box ? { boxes: [box], source: "attention", approximate: true, share: G.trace.looks.share?.[index] } : null;
  };

  // The tokens of each line of a span: one without a glyph of its own stands where the one before does.
  const lines = (span, to) => {
    const all = range(span.tokens[0], Math.min(span.tokens[1], to));
    const found = span.boxes.map(() => []);
    let at = 0, known = false;
    for (const index of all) {
      const [box] = glyphs.get(index) || [];
      const line = box ? span.boxes.findIndex((each) => inside(each, middle(box))) : -1;
      if (line >= 0) { at = line; known = true; }
      found[at]?.push(index);
    }
    return known ? found : found.map(() => all);
  };

  // What can be pointed at: every line of a copied span, and the patches looked at for the rest.
  const regions = () => {
    const tokens = G.trace.told()?.tokens || [];
    const copied = G.trace.copies.flatMap((span) => lines(span, tokens.length).map((here, line) => (
      { box: span.boxes[line], source: span.source, approximate: !!span.approximate, tokens: here })));
    const looked = new Map();
    for (const { index, text } of tokens) {
      const place = text.trim() ? of(index) : null;
      if (place?.source !== "attention") continue;
      const key = place.boxes[0].join();
      if (!looked.has(key)) looked.set(key, { ...place, box: place.boxes[0], tokens: [] });
      looked.get(key).tokens.push(index);
    }
    return [...copied, ...looked.values()];
  };

  // Whether a token of any lane is part of a copy; the copies count the tokens of one lane.
  const copied = (token) => !!spanOf(token.index) && G.trace.told().tokens[token.index]?.id === token.id;

  G.places = {
    of, regions, copied,
    at: (point) => regions().find(({ box }) => inside(box, point)) || null,
    find: () => { restart(); G.trace.told()?.rounds.forEach(locate); },
    add: (fresh, rounds) => { if (fresh) restart(); rounds.forEach(locate); },
  };
})();
