// A replay file: the regions get their values from the file itself, and no server is asked.
(() => {
  "use strict";
  const G = window.GLANCE;
  const read = (id) => document.getElementById(id).textContent;
  const { values, trees, lanes } = JSON.parse(read("g-data"));
  document.body.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);

  const server = {
    tree_of: async (round) => {
      const { lane, r } = JSON.parse(round.split("\n")[0]);
      return JSON.stringify(trees[lane][r]);
    },
    lane_of: async (asked) => lanes[JSON.parse(asked).lane],
  };
  for (const [kind, value] of Object.entries(values)) {
    G.mount(kind, document.getElementById(`g-${kind}`), { value }, () => {}, server, () => {});
  }
  document.querySelector(".g-asked").textContent = G.trace.header.prompt.question;

  // Plotly comes packed: the views wait for it.
  (async () => {
    const packed = Uint8Array.from(atob(read("g-plotly")), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    document.head.append(G.el("script", {}, await new Response(stream).text()));
  })();
})();
