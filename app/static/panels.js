// The smaller regions: document, scrubber, summary, choices, counter, status.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;
  const SVG = "http://www.w3.org/2000/svg";

  // --- document: the page with the boxes that the answer was copied from --------------------
  G.region("document", ({ root, props, watch }) => {
    const picture = root.querySelector("img");
    const frame = root.querySelector(".g-frame");
    const beside = root.querySelector(".g-second");
    const overlay = root.querySelector("svg");
    const caption = root.querySelector(".g-caption");
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
      places = new Map();
      follows = -1;
      G.trace.focus()?.rounds.forEach(locate);
      light();
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
    const rect = ([x0, y0, x1, y1], name) => {
      const node = document.createElementNS(SVG, "rect");
      const shape = { class: name, x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
      for (const [key, value] of Object.entries(shape)) node.setAttribute(key, value);
      return node;
    };
    // Glyph places of the answer's characters, found as its rounds arrive: a round's text is
    // looked for on the page, first where the one before it ended.
    let token = null, places = new Map(), follows = -1;
    const locate = (step) => {
      const { ink, boxes } = G.page?.glyphs || {};
      if (!ink || step.lane !== G.trace.focus()) return;
      const tokens = step.lane.tokens.slice(step.from, step.to).filter((each) => each.text.trim());
      const text = tokens.map((each) => each.text).join("");
      if (!text) return;
      let at = ink.startsWith(text, follows) && follows >= 0 ? follows : text.length >= 4 ? ink.indexOf(text) : -1;
      follows = -1;
      if (at < 0) return;
      for (const each of tokens) {
        places.set(each.index, boxes.slice(at, at + each.text.length));
        at += each.text.length;
      }
      follows = at;
    };
    function light() {
      overlay.replaceChildren();
      if (!G.trace.isOfPage()) return;
      const { round, now } = G.player;
      const seen = now === Infinity ? Infinity
        : G.trace.focus()?.rounds.filter((step) => step.end <= now).at(-1)?.to ?? 0;
      overlay.append(...G.trace.boxes(seen).map((box) => rect(box, "g-read")));
      const [from, to] = token ? [token.index, token.index + 1] : round ? [round.from, round.to] : [0, 0];
      const name = !token && round?.accepted >= 4 ? "g-lit g-big" : "g-lit";
      for (let i = from; i < Math.min(to, seen); i += 1) {
        overlay.append(...(places.get(i) || []).map((box) => rect(box, name)));
      }
    }
    G.on("trace", ({ fresh, rounds }) => {
      if (fresh) { places = new Map(); follows = -1; }
      rounds.forEach(locate);
      light();
      describe();
    });
    G.on("token", (next) => { token = next; light(); });
    G.on("round", light);
    G.on("time", () => G.player.now === Infinity && light());
    watch("value", show);
    show();
  });

  // --- scrubber: the chosen round, following the run until it is touched --------------------
  G.region("scrubber", ({ root }) => {
    const range = root.querySelector("input");
    const label = root.querySelector(".g-round-label");
    const chip = root.querySelector(".g-back");
    const rounds = () => G.trace.focus()?.rounds || [];
    const step = (by) => {
      const next = rounds()[rounds().indexOf(G.player.round) + by];
      if (next) G.player.pick(next);
    };
    const show = () => {
      const all = rounds();
      const at = all.indexOf(G.player.round);
      range.max = Math.max(all.length, 1);
      range.value = at + 1;
      range.disabled = !all.length;
      const now = all[at];
      const words = !now ? "No round yet" : `Round ${now.r} of ${all.length}: `
        + (now.lane.name === "ar" ? "one token, one pass" : `${now.accepted} drafted accepted, ${G.plural(now.to - now.from, "token")} in one pass`);
      label.textContent = words;
      range.setAttribute("aria-valuetext", words);
      chip.hidden = G.player.follow || !all.length;
      chip.textContent = document.body.classList.contains("g-running") ? "Back to live" : "Follow again";
    };
    range.addEventListener("input", () => rounds()[range.value - 1] && G.player.pick(rounds()[range.value - 1]));
    root.querySelector(".g-prev").addEventListener("click", () => step(-1));
    root.querySelector(".g-next").addEventListener("click", () => step(1));
    chip.addEventListener("click", () => G.player.live());
    for (const topic of ["trace", "round", "follow", "state"]) G.on(topic, show);
    show();
  });

  // --- summary: badge, headline, facts -------------------------------------------------------
  G.region("summary", ({ root, props, watch }) => {
    const show = () => {
      const told = G.parse(props.value) || {};
      if (G.trace.dropped.has(told.run)) return;
      const badge = root.querySelector(".g-badge");
      const marks = { equal: "✓", near_tie: "≈", mismatch: "✕" };
      badge.dataset.state = told.badge?.state || "unchecked";
      badge.textContent = `${marks[told.badge?.state] || "–"} ${told.badge?.text || "Not checked"}`;
      root.querySelector(".g-badge-detail").textContent = told.badge?.detail || "";
      root.querySelector(".g-headline").textContent = told.headline || "";
      root.querySelector(".g-facts").replaceChildren(...(told.facts || []).map((fact) => el("div", {},
        el("dt", {}, fact.label), el("dd", {}, fact.value), el("dd", { class: "g-fact-note" }, fact.note))));
    };
    watch("value", show);
    show();
  });

  // --- choices: examples with a picture, suggestions without ---------------------------------
  G.region("choices", ({ root, props, watch, trigger }) => {
    const show = () => {
      const items = G.parse(props.value) || [];
      const pick = (index) => trigger("select", { index, value: items[index].title });
      root.replaceChildren(...items.map((item, index) => {
        const button = el("button", { type: "button", class: item.image ? "g-example" : "g-chip", "aria-pressed": item.chosen ? "true" : null },
          item.image && el("img", { src: item.image, alt: "" }), el("span", {}, item.title));
        button.addEventListener("click", () => pick(index));
        return button;
      }));
      if (items.some((item) => item.id)) G.emit("examples", { items, pick });
    };
    watch("value", show);
    show();
  });

  // --- counter of the question's characters --------------------------------------------------
  G.region("counter", ({ root }) => {
    const LIMIT = 2000;
    const show = () => {
      const length = Array.from(document.querySelector("#g-question textarea")?.value.trim() || "").length;
      root.textContent = `${length.toLocaleString("en")} / ${LIMIT.toLocaleString("en")}`;
      root.classList.toggle("g-over", length > LIMIT);
    };
    document.addEventListener("input", (event) => event.target.closest?.("#g-question") && show());
    for (const topic of ["page", "state", "trace"]) G.on(topic, () => setTimeout(show, 80));
    show();
  });

  // --- status of the model, theme switch ------------------------------------------------------
  G.region("status", ({ root, props, watch }) => {
    const chip = root.querySelector(".g-chip-status");
    const show = () => {
      const status = G.parse(props.value) || {};
      chip.textContent = status.text || "";
      chip.dataset.phase = status.phase || "";
    };
    root.querySelector(".g-theme").addEventListener("click", () => document.body.classList.toggle("dark"));
    watch("value", show);
    show();
  });
})();
