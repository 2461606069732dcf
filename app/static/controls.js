// What stands beside the controls: the lanes' cards, and what a run is likely to cost.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;

  // Text between backticks is code; all other marks stay as they are.
  const inline = (text) => text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
  const draw = {
    heading: ({ text }) => el("h3", {}, ...inline(text)),
    text: ({ text }) => el("p", {}, ...inline(text)),
    code: ({ text }) => el("pre", {}, text),
    table: ({ rows }) => el("table", {}, el("tbody", {}, ...rows.map((cells) =>
      el("tr", {}, ...cells.map((cell) => el("td", {}, ...inline(cell))))))),
  };

  G.region("cards", ({ root, props, watch }) => {
    const show = () => {
      root.replaceChildren(...(G.parse(props.value) || []).map(({ name, about, blocks }) => {
        const words = [el("b", {}, name), `: ${about}`];
        if (!blocks.length) return el("p", {}, ...words);
        return el("details", {}, el("summary", {}, ...words, " ", el("span", {}, "Card")),
          el("div", { class: "g-paper", tabindex: 0, role: "group", "aria-label": `Card of ${name}` },
            ...blocks.map((block) => draw[block.kind](block))));
      }));
    };
    watch("value", show);
    show();
  });

  G.region("cost", ({ root, props, watch }) => {
    const show = () => { root.textContent = props.value || ""; };
    watch("value", show);
    show();
  });
})();
