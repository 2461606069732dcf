// Which of two drafting lanes the round views are about. The figures of the first come with the run,
// those of the lane that is chosen are asked from the server.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;

  G.region("which", ({ root, server }) => {
    const group = root.querySelector("fieldset");
    const legend = group.querySelector("legend");
    const known = new Map();
    let names = [];

    const option = (name) => {
      const input = el("input", { type: "radio", name: "g-which", value: name });
      input.addEventListener("change", () => G.player.watch(G.trace.lanes.get(name)));
      return el("label", {}, input, G.laneName(name));
    };
    const show = () => {
      const drafting = (G.trace.header?.lanes || []).filter((name) => name !== "ar");
      if (String(drafting) !== String(names)) group.replaceChildren(legend, ...drafting.map(option));
      names = drafting;
      group.hidden = names.length < 2;
      for (const input of group.querySelectorAll("input")) {
        const lane = G.trace.lanes.get(input.value);
        input.disabled = !lane || !G.player.shows(lane);
        input.checked = !!lane && lane === G.trace.focus();
      }
    };
    const ask = async (lane) => {
      const { run, text } = G.trace;
      const asked = JSON.stringify({ lane: lane.name, trace: text });
      if (!known.has(lane.name)) known.set(lane.name, server.lane_of(asked).catch(() => null));
      const figures = G.parse(await known.get(lane.name));
      if (run !== G.trace.run) return;
      if (!figures) known.delete(lane.name); // asked again when the lane is chosen again
      else if (lane === G.trace.focus()) G.emit("figures", figures);
    };
    G.on("trace", ({ fresh }) => fresh && known.clear());
    G.on("lane", ask);
    for (const topic of ["trace", "lane", "state"]) G.on(topic, show);
    show();
  });
})();
