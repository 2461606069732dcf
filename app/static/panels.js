// The smaller regions: scrubber, summary, choices, counter, status.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;

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
      const none = G.trace.complete() ? "No round: the first token was the whole answer" : "No round yet";
      const words = !now ? none : `Round ${now.r} of ${all.length}: `
        + (now.lane.name === "ar" ? "one token, one pass" : `${now.accepted} drafted accepted, ${G.plural(now.to - now.from, "token")} in one pass`);
      label.textContent = words;
      range.setAttribute("aria-valuetext", words);
      chip.hidden = G.player.follow || !all.length;
      chip.textContent = document.body.classList.contains("g-running") ? "Back to live" : "Follow again";
    };
    range.addEventListener("input", () => rounds()[range.value - 1] && G.player.pick(rounds()[range.value - 1]));
    root.querySelector(".g-prev").addEventListener("click", () => step(-1));
    root.querySelector(".g-next").addEventListener("click", () => step(1));
    root.querySelector(".g-first-round").addEventListener("click", () => rounds()[0] && G.player.pick(rounds()[0]));
    root.querySelector(".g-last-round").addEventListener("click", () => rounds().length && G.player.pick(rounds().at(-1)));
    const play = root.querySelector(".g-play");
    play.addEventListener("click", () => G.player.toggle());
    G.on("time", () => { play.textContent = G.player.playing && !G.player.paused ? "Pause" : "Play"; });
    chip.addEventListener("click", () => G.player.live());
    for (const topic of ["trace", "lane", "round", "follow", "state"]) G.on(topic, show);
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
      const pick = (index) => {
        if (items[index].image) G.player.reads();
        trigger("select", { index, value: items[index].title });
      };
      const at = [...root.children].findIndex((each) => each.matches(":focus-visible"));
      root.replaceChildren(...items.map((item, index) => {
        const button = el("button", { type: "button", class: item.image ? "g-example" : "g-chip", "aria-pressed": item.chosen ? "true" : null },
          item.image && el("img", { src: item.image, alt: "" }), el("span", {}, item.title));
        button.addEventListener("click", () => pick(index));
        return button;
      }));
      root.children[at]?.focus({ preventScroll: true }); // who picks by keyboard stays there
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
    for (const topic of ["page", "state", "trace", "question"]) G.on(topic, () => setTimeout(show, 80));
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
