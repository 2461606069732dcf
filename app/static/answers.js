// The answers side by side: tokens by origin, grouped by round, revealed on the replay's clock.
// A strip's textContent is the answer itself: glyphs and tags are drawn by the style sheet.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;
  const ORIGINS = {
    drafted: "drafted, accepted by the target", bonus: "the target's own token after a block",
    corrected: "the target's own token, where the draft was rejected", target: "the target's own token",
  };
  const originOf = (token) => (token.corrected ? "corrected" : token.origin);

  const span = (token) => {
    const node = el("span", { class: `g-tok g-${originOf(token)}`, "data-i": token.index });
    if (token.text === "\n") node.classList.add("g-newline");
    else if (token.text === " ") node.classList.add("g-space");
    else if (!token.text) {
      node.classList.add("g-nil");
      node.dataset.glyph = token.top.find(([id]) => id === token.id)?.[1] || "·";
    }
    node.textContent = token.text;
    return node;
  };

  G.region("answers", ({ root }) => {
    const strips = new Map();
    const holder = root.querySelector(".g-strips");
    const live = root.querySelector(".g-live");
    const tip = el("div", { class: "g-tip", role: "tooltip", hidden: true });
    document.body.append(tip);

    const strip = (name) => {
      if (strips.has(name)) return strips.get(name);
      const body = el("div", { class: "g-strip", tabindex: 0, role: "group", dir: "auto", "data-lane": name,
        "aria-label": `Answer of ${G.laneName(name)}. Left and right arrows read it token by token.` });
      const note = el("span", { class: "g-note" });
      holder.append(el("article", { class: "g-answer" },
        el("h3", {}, G.laneName(name)), note, body));
      const made = { name, body, note, drawn: 0, groups: [], shown: 0, at: -1 };
      strips.set(name, made);
      wire(made);
      return made;
    };

    const append = (made, lane) => {
      const atEnd = made.body.scrollTop + made.body.clientHeight >= made.body.scrollHeight - 8;
      if (lane.prefill && !made.body.firstChild) {
        made.body.append(el("span", { class: "g-round", "data-r": 0 }, span(lane.tokens[0])));
      }
      for (const step of lane.rounds.slice(made.drawn)) {
        const group = el("span", { class: "g-round", "data-r": step.r },
          ...lane.tokens.slice(step.from, step.to).map(span));
        if (step.accepted >= 4) {
          group.classList.add("g-leap");
          group.dataset.tag = `one pass, ${step.to - step.from} tokens`;
        }
        made.body.append(group);
        made.groups.push({ group, step });
      }
      made.drawn = lane.rounds.length;
      // The reader who scrolled up is left where they are.
      if (atEnd) made.body.scrollTop = made.body.scrollHeight;
    };

    const draw = ({ fresh, rounds } = {}) => {
      if (fresh) { strips.clear(); holder.replaceChildren(); hide(); }
      for (const name of G.trace.header?.lanes || []) strip(name);
      for (const lane of G.trace.lanes.values()) append(strip(lane.name), lane);
      holder.dataset.lanes = strips.size;
      root.classList.toggle("g-empty", !strips.size);
      const step = (rounds || []).filter((each) => each.lane === G.trace.focus() && each.lane.name !== "ar").at(-1);
      if (step && G.player.source === "live") {
        live.textContent = `Round ${step.r}: ${step.accepted} accepted, ${G.plural(step.to - step.from, "token")} in one pass`;
      }
      time();
    };

    const time = () => {
      const { now, playing, spot } = G.player;
      root.classList.toggle("g-playing", playing);
      for (const made of strips.values()) {
        for (const { group, step } of made.groups) {
          group.classList.toggle("g-off", step.end > now);
          group.classList.toggle("g-spot", spot === step);
        }
        const lane = G.trace.lanes.get(made.name);
        if (!lane) { made.note.textContent = "waits its turn"; continue; }
        if (playing) {
          const last = made.groups.filter(({ step }) => step.end <= now).at(-1)?.group;
          if (last) follow(made.body, last);
        }
        const passes = playing ? lane.rounds.filter((step) => step.end <= now).length : lane.rounds.length;
        made.note.textContent = passes === 1 ? "1 pass" : `${passes} passes`;
      }
    };
    const follow = (body, node) => {
      const bottom = node.offsetTop + node.offsetHeight - body.offsetTop;
      if (bottom > body.scrollTop + body.clientHeight) body.scrollTop = bottom - body.clientHeight + 8;
    };

    // --- one token's story: on hover, tap and by arrow keys ---------------------------------
    const hide = () => {
      tip.hidden = true;
      root.querySelectorAll(".g-here").forEach((node) => node.classList.remove("g-here"));
      G.emit("token", null);
    };
    const show = (made, node) => {
      const token = G.trace.lanes.get(made.name)?.tokens[Number(node.dataset.i)];
      if (!token) return;
      hide();
      node.classList.add("g-here");
      const rows = token.top.slice(0, 5).map(([, text, p]) => el("li", {},
        el("code", {}, G.glyphs(text)), el("i", { style: `--p:${Number(p)}` }), el("b", {}, Number(p).toFixed(3))));
      tip.replaceChildren(
        el("p", {}, el("code", {}, G.glyphs(token.text || node.dataset.glyph)), ` token ${token.index}, ${token.r ? `round ${token.r}` : "prefill"}`),
        el("p", { class: `g-${originOf(token)}` }, ORIGINS[originOf(token)]),
        el("p", {}, `entropy ${Number(token.h).toFixed(3)} nats`), el("ol", {}, ...rows));
      tip.hidden = false;
      const box = node.getClientRects()[0] || node.getBoundingClientRect();
      const left = Math.min(Math.max(8, box.left), innerWidth - tip.offsetWidth - 8);
      const below = box.bottom + 8 + tip.offsetHeight < innerHeight;
      tip.style.left = `${left}px`;
      tip.style.top = `${below ? box.bottom + 8 : Math.max(8, box.top - tip.offsetHeight - 8)}px`;
      G.emit("token", token);
    };
    const wire = (made) => {
      const at = (event) => event.target.closest?.(".g-tok");
      made.body.addEventListener("pointerover", (event) => at(event) && show(made, at(event)));
      made.body.addEventListener("click", (event) => {
        const node = at(event);
        if (!node) return;
        show(made, node);
        const lane = G.trace.lanes.get(made.name);
        const step = lane.rounds.find((each) => each.r === Number(node.parentNode.dataset.r));
        if (step && lane === G.trace.focus()) G.player.pick(step);
      });
      made.body.addEventListener("pointerleave", hide);
      made.body.addEventListener("blur", hide);
      made.body.addEventListener("keydown", (event) => {
        const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (event.key === "Escape") hide();
        if (!move) return;
        event.preventDefault();
        const nodes = made.body.querySelectorAll(".g-tok");
        made.at = Math.min(Math.max(made.at + move, 0), nodes.length - 1);
        nodes[made.at].scrollIntoView({ block: "nearest" });
        show(made, nodes[made.at]);
        live.textContent = tip.textContent;
      });
    };

    G.on("trace", draw);
    G.on("time", time);
    G.on("round", (step) => {
      for (const made of strips.values()) {
        for (const each of made.groups) each.group.classList.toggle("g-chosen", each.step === step);
      }
    });
    draw({ fresh: true });
  });
})();
