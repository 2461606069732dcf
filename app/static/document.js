// The document: the page, what the model gets of it, and the places that the answer comes from.
// Pointing at a place lights its tokens up, pointing at a token lights up its place.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;
  const SVG = "http://www.w3.org/2000/svg";

  G.region("document", ({ root, props, watch }) => {
    const picture = root.querySelector("img");
    const frame = root.querySelector(".g-frame");
    const beside = root.querySelector(".g-second");
    const overlay = root.querySelector("svg");
    const caption = root.querySelector(".g-caption");
    const told = root.querySelector(".g-place");
    const tag = frame.appendChild(el("span", { class: "g-approximate", hidden: true }, "approximate"));
    const shape = (node, { width, height }) => node.style.setProperty("--ratio", width / height);
    const show = () => {
      const page = G.parse(props.value);
      G.page = page;
      root.classList.toggle("g-empty", !page);
      if (page) {
        picture.src = page.src;
        picture.alt = page.alt;
        shape(frame, page);
      } else {
        picture.removeAttribute("src");
      }
      const second = page?.second;
      root.classList.toggle("g-two", !!second);
      beside.hidden = !second;
      beside.replaceChildren(...(second ? [el("img", { src: second.src, alt: second.alt })] : []));
      if (second) shape(beside, second);
      describe();
      G.places.find();
      enter(null);
      G.emit("page", page);
    };
    // The file, and how the model sees its pages: as a run has it on record, or will have it.
    const describe = () => {
      const page = G.page;
      const { image, second_image, prompt } = (G.trace.isOfPage() && G.trace.header) || {};
      const shown = page ? [page, page.second].filter(Boolean) : [];
      const seen = image ? [image, second_image].filter(Boolean) : shown;
      const each = (values) => [...new Set(values.filter(Boolean))].join(" and ");
      const sizes = each(seen.map(({ processed }) => processed?.join(" × ")));
      const tokens = prompt?.image_tokens ?? shown.reduce((sum, { tokens }) => sum + tokens, 0);
      const heights = each(shown.map(({ text_px }) => text_px && `${text_px} px`));
      caption.textContent = !page ? "" : [
        page.name, `${each(shown.map(({ width, height }) => `${width} × ${height}`))} pixels`,
        [page.kind, page.mode].filter(Boolean).join(", "),
        sizes && `read at ${sizes}`, tokens && `${tokens.toLocaleString("en")} visual tokens`,
        heights && `text about ${heights} tall`, ...page.notices,
      ].filter(Boolean).join(" · ");
    };

    // --- the overlay: all places faintly, those of a token, a pointed place or the round lit ----
    let token = null, here = null;
    const rect = ([x0, y0, x1, y1], name) => {
      const node = document.createElementNS(SVG, "rect");
      const sides = { class: name, x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
      for (const [key, value] of Object.entries(sides)) node.setAttribute(key, value);
      return node;
    };
    const seen = () => {
      const { now } = G.player;
      return now === Infinity ? Infinity
        : G.trace.told()?.rounds.filter((step) => step.end <= now).at(-1)?.to ?? 0;
    };
    const isOfPage = () => G.trace.isOfPage() && !document.body.classList.contains("g-stale");
    const shown = () => (isOfPage() ? G.places.regions().filter(({ tokens }) => tokens[0] < seen()) : []);
    const looks = (place) => (place.approximate ? "g-lit g-guess" : "g-lit");
    // indexes count in one lane: another lane's token has a place where both agree
    const agrees = (lane, index) => !!lane?.tokens[index] && G.trace.told().tokens[index]?.id === lane.tokens[index].id;
    const lit = () => {
      if (here) return [[here.box, looks(here)]];
      const { round } = G.player;
      const [from, to] = token ? [token.index, token.index + 1] : round ? [round.from, round.to] : [0, 0];
      const indexes = Array.from({ length: Math.max(0, Math.min(to, seen()) - from) }, (_, i) => from + i);
      const big = !token && round?.accepted >= 4;
      const found = new Map(); // tokens of one span share its boxes
      for (const index of indexes) {
        const place = (token || agrees(round.lane, index)) && G.places.of(index);
        // the guesses of a whole round would lie all over the page
        if (!place || (!token && place.source === "attention")) continue;
        for (const box of place.boxes) found.set(String(box), [box, looks(place) + (big ? " g-big" : "")]);
      }
      return [...found.values()];
    };
    const light = () => {
      const regions = shown();
      const boxes = isOfPage() ? lit() : [];
      overlay.replaceChildren(
        ...regions.map((each) => rect(each.box, each.approximate ? "g-read g-guess" : "g-read")),
        ...boxes.map(([box, name]) => rect(box, name)));
      const guess = (token || here) && boxes.find(([, name]) => name.includes("g-guess"));
      tag.hidden = !guess;
      if (guess) Object.assign(tag.style, { left: `${100 * guess[0][0]}%`, top: `${100 * guess[0][3]}%` });
      // only a page with places is a stop of the Tab key
      if (regions.length) frame.tabIndex = 0;
      else frame.removeAttribute("tabindex");
      explain(regions);
    };
    const explain = (regions) => {
      const place = here || (token && G.places.of(token.index));
      const lane = G.trace.told();
      const text = here ? here.tokens.map((index) => lane.tokens[index]?.text).join("") : token?.text;
      told.textContent = place ? origin(place, `“${G.glyphs(text.trim() || text)}”`)
        : !regions.length ? "" : "Point at the page or at a token, and its counterpart lights up."
          + (regions.some(({ approximate }) => approximate) ? " Dotted places are approximate." : "");
    };
    const origin = ({ source, approximate, share }, text) => {
      if (!approximate) return `On the page: ${text}`;
      const { layer, head } = G.trace.looks?.head || {};
      const part = share == null ? "" : `, ${Math.round(100 * share)}% of its attention`;
      const why = source === "attention" && head !== undefined
        ? `where head ${head} of layer ${layer} looks most${part}` : `by ${source}`;
      return `Approximate place of ${text}, ${why}`;
    };

    // --- pointing at a place: by pointer, by tap, or with the arrow keys -------------------------
    const enter = (region) => {
      here = region;
      light();
      G.emit("place", region);
    };
    const under = ({ clientX, clientY }) => {
      const { left, top, width, height } = overlay.getBoundingClientRect();
      const found = G.places.at([(clientX - left) / width, (clientY - top) / height]);
      return found && shown().find(({ box }) => String(box) === String(found.box)) || null;
    };
    const cropping = () => document.body.classList.contains("g-cropping");
    const point = (event) => {
      const region = cropping() ? null : under(event);
      if (String(region?.box) !== String(here?.box)) enter(region);
    };
    const pick = () => {
      const [index] = here?.tokens || [];
      const lane = agrees(G.trace.focus(), index) ? G.trace.focus() : G.trace.told();
      const step = here && lane.rounds.find(({ from, to }) => from <= index && index < to);
      if (step) G.player.pick(step);
    };
    frame.addEventListener("pointermove", point);
    frame.addEventListener("click", (event) => { point(event); pick(); });
    frame.addEventListener("pointerleave", () => here && enter(null));
    frame.addEventListener("focus", () => told.setAttribute("aria-live", "polite"));
    frame.addEventListener("blur", () => { told.removeAttribute("aria-live"); if (here) enter(null); });
    frame.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape" && here) enter(null);
      if (event.key === "Enter") pick();
      if (!by) return;
      event.preventDefault();
      const regions = shown();
      const at = regions.findIndex(({ box }) => String(box) === String(here?.box));
      const next = regions[at < 0 ? (by > 0 ? 0 : regions.length - 1) : Math.min(Math.max(at + by, 0), regions.length - 1)];
      if (next) enter(next);
    });

    G.on("trace", ({ fresh, rounds }) => {
      G.places.add(fresh, rounds);
      if (fresh) here = null;
      light();
      describe();
    });
    G.on("token", (next) => {
      token = next && G.trace.told()?.tokens[next.index]?.id === next.id ? next : null;
      if (token) here = null;
      light();
    });
    G.on("stale", () => enter(null)); // the places are of an answer to another question
    G.on("round", light);
    G.on("time", () => G.player.now === Infinity && light());
    watch("value", show);
    show();
  });
})();
