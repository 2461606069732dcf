// The answers side by side: tokens by origin, grouped by round, revealed on the replay's clock.
// A strip's textContent is the answer itself: glyphs and tags are drawn by the style sheet. A token
// stands at the same place of every strip: a tag in one leaves as much room in the others.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;
  const LEAP = 4; // drafted tokens accepted in one pass, from which on a round is tagged
  const FULL = 2; // nats, from which on a token's entropy bar is full
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
    node.style.setProperty("--h", Math.min(Number(token.h) / FULL, 1) || 0);
    return node;
  };

  G.region("answers", ({ root }) => {
    const strips = new Map();
    let leader = null, pressed = null;
    const holder = root.querySelector(".g-strips");
    const live = root.querySelector(".g-live");
    const legend = root.querySelector(".g-legend .g-copied");
    const tip = el("div", { class: "g-tip", role: "tooltip", hidden: true });
    document.body.append(tip);

    const strip = (name) => {
      if (strips.has(name)) return strips.get(name);
      const body = el("div", { class: "g-strip", tabindex: 0, role: "group", dir: "auto", "data-lane": name,
        "aria-label": `Answer of ${G.laneName(name)}. Left and right arrows read it token by token.` });
      const note = el("span", { class: "g-note" });
      holder.append(el("article", { class: "g-answer" },
        el("h3", {}, G.laneName(name)), note, body));
      const made = { name, body, note, drawn: 0, groups: [], nodes: [], paired: new Map(), at: -1 };
      strips.set(name, made);
      wire(made);
      return made;
    };

    const append = (made, lane) => {
      const atEnd = made.body.scrollTop + made.body.clientHeight >= made.body.scrollHeight - 8;
      const add = (r, tokens) => {
        const nodes = tokens.map(span);
        made.nodes.push(...nodes);
        return el("span", { class: "g-round", "data-r": r }, ...nodes);
      };
      if (lane.prefill && !made.body.firstChild) made.body.append(add(0, lane.tokens.slice(0, 1)));
      for (const step of lane.rounds.slice(made.drawn)) {
        const group = add(step.r, lane.tokens.slice(step.from, step.to));
        if (step.accepted >= LEAP) {
          group.classList.add("g-leap");
          group.dataset.tag = `${step.to - step.from} in 1 pass`; // as wide as its room in any font
        }
        made.body.append(group);
        made.groups.push({ group, step });
      }
      made.drawn = lane.rounds.length;
      // The reader who scrolled up is left where they are.
      if (atEnd) made.body.scrollTop = made.body.scrollHeight;
    };

    // Room for the tags of one strip in another, as far as both wrote the same tokens.
    const pair = (made, other) => {
      const [mine, theirs] = [made, other].map(({ name }) => G.trace.lanes.get(name)?.tokens || []);
      let at = made.paired.get(other) || 0;
      for (; at < made.groups.length; at += 1) {
        const { from, to, accepted } = made.groups[at].step;
        if (theirs.length < to) break;
        if (mine.slice(from, to).some(({ id }, i) => id !== theirs[from + i].id)) { at = Infinity; break; }
        const node = other.nodes[from];
        const before = node.previousSibling;
        const tagged = before ? before.matches(".g-pace") : node.parentNode.matches(".g-leap");
        if (accepted < LEAP || tagged) continue;
        const passes = new Set(theirs.slice(from, to).map(({ r }) => r)).size;
        node.before(el("i", { class: "g-pace", "data-tag": G.plural(passes, "pass") }));
      }
      made.paired.set(other, at);
    };

    // What was copied off the page is known when the run has ended.
    const copies = (all) => {
      legend.hidden = !G.trace.copies.length;
      if (legend.hidden) return;
      for (const { name, nodes } of all) {
        const { tokens } = G.trace.lanes.get(name) || {};
        nodes.forEach((node, i) => node.classList.toggle("g-copied", G.places.copied(tokens[i])));
      }
    };

    const draw = ({ fresh, rounds } = {}) => {
      if (fresh) { strips.clear(); holder.replaceChildren(); hide(); }
      for (const name of G.trace.header?.lanes || []) strip(name);
      for (const lane of G.trace.lanes.values()) append(strip(lane.name), lane);
      const all = [...strips.values()];
      copies(all);
      outline();
      for (const made of all) all.forEach((other) => other !== made && pair(made, other));
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
        if (!lane) { made.note.textContent = G.player.runs() ? "waits its turn" : "not run"; continue; }
        if (playing) {
          const last = made.groups.filter(({ step }) => step.end <= now).at(-1)?.group;
          if (last) follow(made.body, last);
        }
        const passes = playing ? lane.rounds.filter((step) => step.end <= now).length : lane.rounds.length;
        made.note.textContent = passes === 1 ? "1 pass" : `${passes} passes`;
      }
    };
    const follow = (body, node) => {
      const bottom = node.offsetTop + node.offsetHeight;
      if (bottom > body.scrollTop + body.clientHeight) body.scrollTop = bottom - body.clientHeight + 8;
    };
    // Moves the strip alone, never the page.
    const reveal = (body, node) => {
      if (node.offsetTop < body.scrollTop) body.scrollTop = node.offsetTop - 8;
      follow(body, node);
    };

    // The same token in the strips of all lanes that have it.
    const mark = (token, under) => {
      for (const made of strips.values()) {
        if (G.trace.lanes.get(made.name)?.tokens[token.index]?.id !== token.id) continue;
        made.nodes[token.index].classList.add("g-here");
        // a strip that moved by itself would slip away under the pointer
        if (made !== under) reveal(made.body, made.nodes[token.index]);
      }
    };
    const unmark = () => root.querySelectorAll(".g-here").forEach((node) => node.classList.remove("g-here"));

    // --- one token's story: on hover, tap and by arrow keys ---------------------------------
    const hide = () => {
      tip.hidden = true;
      unmark();
      G.emit("token", null);
    };
    const show = (made, node) => {
      const token = G.trace.lanes.get(made.name)?.tokens[Number(node.dataset.i)];
      if (!token) return;
      hide();
      mark(token, made);
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
    const spoken = () => [...tip.querySelectorAll("p, li")].map((part) =>
      [...part.childNodes].map((each) => each.textContent.trim()).filter(Boolean).join(" ")).join(", ");
    const wire = (made) => {
      const at = (event) => event.target.closest?.(".g-tok");
      made.body.addEventListener("pointerover", (event) => at(event) && show(made, at(event)));
      made.body.addEventListener("click", (event) => {
        const node = at(event);
        if (!node) return;
        show(made, node);
        const lane = G.trace.lanes.get(made.name);
        const step = lane.rounds.find((each) => each.r === Number(node.parentNode.dataset.r));
        pressed = made;
        if (step && G.player.shows(lane)) G.player.pick(step);
        pressed = null;
      });
      // all are read together: the one that the reader is at leads, unless a run moves each
      for (const name of ["pointerenter", "focus"]) made.body.addEventListener(name, () => { leader = made; });
      made.body.addEventListener("scroll", () => {
        if (leader !== made || G.player.playing || document.body.classList.contains("g-running")) return;
        for (const { body } of strips.values()) body.scrollTop = made.body.scrollTop;
      });
      made.body.addEventListener("pointerleave", hide);
      made.body.addEventListener("blur", hide);
      made.body.addEventListener("keydown", (event) => {
        const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (event.key === "Escape") hide();
        if (!move || !made.nodes.length) return;
        event.preventDefault();
        made.at = Math.min(Math.max(made.at + move, 0), made.nodes.length - 1);
        reveal(made.body, made.nodes[made.at]);
        show(made, made.nodes[made.at]);
        live.textContent = spoken();
      });
    };

    const outline = () => {
      for (const { groups } of strips.values()) {
        for (const { group, step } of groups) group.classList.toggle("g-chosen", step === G.player.round);
      }
    };

    G.on("trace", draw);
    for (const topic of ["time", "state"]) G.on(topic, time);
    G.on("sure", () => hide());
    G.on("unsure", ({ lane, index }) => {
      const made = strips.get(lane.name);
      made.at = index;
      reveal(made.body, made.nodes[index]);
      show(made, made.nodes[index]);
      live.textContent = spoken();
    });
    G.on("place", (region) => {
      unmark();
      const tokens = G.trace.told()?.tokens || [];
      // backwards, so that in the end the first one is in sight
      for (const index of [...(region?.tokens || [])].reverse()) if (tokens[index]) mark(tokens[index]);
    });
    G.on("round", (step) => {
      outline();
      const made = strips.get(step?.lane.name);
      const chosen = made?.groups.find((each) => each.step === step)?.group;
      // a run moves its strip itself, and one that was pressed stays under the pointer
      if (chosen && !G.player.follow && made !== pressed) reveal(made.body, chosen);
    });
    draw({ fresh: true });
  });
})();
