// The race: both lanes on one clock, a block as wide as its round took.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;

  // An axis end that moves rarely while a run goes on: 1, 2 or 5 times a power of ten.
  const nice = (ms) => {
    const power = 10 ** Math.floor(Math.log10(Math.max(ms, 10)));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((end) => end >= ms);
  };

  const where = () => {
    const header = G.trace.header;
    const target = header?.target || {};
    const when = (header?.created || "").slice(0, 10);
    // a bare "cpu" tells little about times: name the processor
    const { cpu, cores } = header?.provenance?.machine || {};
    const device = target.device === "cpu" && cpu ? `${cpu}, ${G.plural(cores, "core")}` : target.device;
    const machine = `${target.name} model on ${device}, ${target.dtype}`;
    const words = {
      recorded: `Recorded run, ${when}: ${machine}`,
      opened: `Opened trace, ${when}: ${machine}`,
      live: `Live: ${machine}`,
    };
    return header ? words[G.player.source] : "";
  };

  G.region("race", ({ root }) => {
    const rows = new Map();
    const lanes = root.querySelector(".g-lanes");
    const axis = root.querySelector(".g-axis");
    const origin = root.querySelector(".g-origin");
    const speed = root.querySelector(".g-speed");
    root.querySelector(".g-slow").addEventListener("click", () => G.player.slowly());
    const rates = [[".g-quarter", 0.25], [".g-real", 1], [".g-skip", Infinity]].map(([name, rate]) => {
      const button = root.querySelector(name);
      button.addEventListener("click", () => (rate === Infinity ? G.player.stop() : G.player.play(rate)));
      return [button, rate];
    });

    const row = (lane) => {
      if (rows.has(lane.name)) return rows.get(lane.name);
      const track = el("div", { class: "g-track" });
      const prefill = el("div", { class: "g-prefill" });
      const count = el("div", { class: "g-count" });
      const node = el("div", { class: "g-lane", "data-lane": lane.name },
        el("div", { class: "g-lane-name" }, G.laneName(lane.name)), prefill, track, count);
      lanes.append(node);
      const made = { node, track, prefill, count, blocks: [] };
      rows.set(lane.name, made);
      return made;
    };

    const part = (attributes, from, to, ...inside) => {
      const node = el("div", attributes, ...inside);
      node.style.setProperty("--a", from);
      node.style.setProperty("--b", to);
      return node;
    };
    const firstDraft = (step) => (step.r === 1 && step.verbs.draft?.ms) || 0;
    const block = (step) => {
      const draft = firstDraft(step);
      return part({
        class: "g-block" + (step.accepted >= 4 ? " g-big" : ""), "data-r": step.r,
        title: `round ${step.r}: ${G.plural(step.to - step.from, "token")} in ${G.duration(step.end - step.start)}`
          + (draft ? `, the first draft ${G.duration(draft)} of it` : ""),
      }, step.start, step.end, step.to - step.from > 1 ? el("span", {}, String(step.to - step.from)) : null);
    };

    const draw = ({ fresh } = {}) => {
      if (fresh) { rows.clear(); lanes.replaceChildren(); }
      const span = nice(G.player.span());
      lanes.style.setProperty("--span", span);
      for (const name of G.trace.header?.lanes || []) row({ name });
      for (const lane of G.trace.lanes.values()) {
        const { track, prefill, blocks } = row(lane);
        if (lane.prefill) prefill.textContent = `prefill ${G.duration(lane.prefill.ms)}`;
        for (const step of lane.rounds.slice(blocks.length)) {
          blocks.push(block(step));
          track.append(blocks.at(-1));
          if (firstDraft(step)) track.append(part({ class: "g-first" }, step.start, step.start + firstDraft(step)));
        }
        // a number needs about a fortieth of the track
        lane.rounds.forEach((step, i) => blocks[i].classList.toggle("g-thin", (step.end - step.start) / span < 0.025));
      }
      axis.replaceChildren(...[0, 0.25, 0.5, 0.75, 1].map((part) => el("span", {}, G.duration(span * part))));
      time();
    };

    const time = () => {
      const { now, playing, paused, pausing, rate } = G.player;
      for (const lane of G.trace.lanes.values()) {
        const made = rows.get(lane.name);
        const end = lane.rounds.at(-1)?.end || 0;
        const at = Math.min(now, end);
        made.track.style.setProperty("--now", at);
        const seen = now === Infinity ? lane.tokens.length
          : lane.rounds.filter((step) => step.end <= now).at(-1)?.to ?? 1;
        const done = lane.finish && now >= end;
        made.count.textContent = `${seen} tok · ${G.duration(at)}`;
        made.node.classList.toggle("g-done", !!done);
      }
      const factor = rate >= 1 ? `${rate.toFixed(rate < 10 ? 1 : 0)}×` : `1/${Math.max(2, Math.round(1 / rate))}`;
      speed.textContent = !playing ? "" : paused ? "Paused" : rate === 1 ? "Real speed" : rate < 1
        ? `Slow motion: ${factor} speed` : `Fast motion: ${factor} speed`;
      root.classList.toggle("g-playing", playing);
      for (const [button, value] of rates) {
        button.setAttribute("aria-pressed", String(playing ? !pausing && rate === value : value === Infinity));
      }
    };

    const label = () => {
      const stale = document.body.classList.contains("g-stale");
      origin.textContent = stale ? "Of another page or question: run again" : where();
      origin.title = `weights ${G.trace.header?.target?.revision || ""}, ${G.trace.header?.target?.attention || ""} attention`;
    };
    G.on("trace", (news) => { draw(news); label(); });
    G.on("state", label);
    G.on("stale", label);
    G.on("time", time);
    G.on("round", (step) => root.querySelectorAll(".g-block").forEach((node) => {
      const here = step && Number(node.dataset.r) === step.r
        && node.closest(".g-lane").dataset.lane === step.lane.name;
      node.classList.toggle("g-chosen", !!here);
    }));
    lanes.addEventListener("click", (event) => {
      const node = event.target.closest(".g-block");
      const lane = node && G.trace.lanes.get(node.closest(".g-lane").dataset.lane);
      if (lane && G.player.shows(lane)) G.player.pick(lane.rounds.find((step) => step.r === Number(node.dataset.r)));
    });
    draw({ fresh: true });
    label();
  });
})();
