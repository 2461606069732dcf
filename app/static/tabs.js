// Tabs below the round views: the whole run in three figures, and the study that is not about it.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;
  const { View, twin, table, streamed } = G.plots;

  // --- text twins ------------------------------------------------------------------------------
  const bars = (view) => {
    const found = (view.shown?.data || []).filter((trace) => trace.type === "bar");
    if (!found.length) return null;
    const { x, x0, y } = found[0];
    const heads = [view.shown.layout.xaxis.title.text, ...found.map((trace) => trace.name)];
    return table(heads, y.map((_, index) => [x ? x[index] : x0 + index, ...found.map((trace) => trace.y[index])]));
  };
  const points = (view) => {
    const found = (view.shown?.data || []).filter((trace) => trace.meta?.picks);
    const rows = found.flatMap((trace) => trace.x.map((nats, index) => [trace.customdata[index], nats, trace.y[index]]));
    return rows.length ? table(["round", "entropy at the root (nats)", "accepted"], rows.sort((a, b) => a[0] - b[0])) : null;
  };

  // --- the study: results of many pages, asked for when its tab is first opened -----------------
  const sections = (found) => found.map(({ title, words, picture, tables }) => el("section", {},
    el("h4", {}, title), el("p", {}, words),
    picture && el("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture)}`, alt: `${title}, drawn; the table below has the figures` }),
    ...tables.map(({ heads, rows }) => el("div", { class: "g-twin", tabindex: 0 }, table(heads, rows)))));

  G.region("tabs", (handles) => {
    const { root, server } = handles;
    const tabs = [...root.querySelectorAll("[role=tab]")];
    const panel = (tab) => root.querySelector(`#${tab.getAttribute("aria-controls")}`);
    const views = {};
    for (const tab of tabs.filter(({ dataset }) => dataset.kind !== "study")) {
      const view = new View(tab.dataset.kind, panel(tab));
      twin(view, () => (view.name === "law" ? points(view) : bars(view)));
      views[view.name] = view;
    }
    const draw = (figures) => {
      for (const view of Object.values(views)) view.want(figures[view.name]);
    };
    streamed(handles, ({ figures }) => draw(figures));
    G.on("figures", (figures) => draw(figures.tabs));

    let study = null;
    const readStudy = async () => {
      const place = root.querySelector(".g-sections");
      study ??= server.study_of();
      const found = G.parse(await study.catch(() => null));
      if (!found) study = null; // asked again when the tab is opened again
      place.replaceChildren(...(found ? sections(found) : ["The results could not be read."]));
    };
    const open = (chosen) => {
      for (const tab of tabs) {
        const here = tab === chosen;
        tab.setAttribute("aria-selected", here);
        tab.tabIndex = here ? 0 : -1;
        panel(tab).hidden = !here;
      }
      const view = views[chosen.dataset.kind];
      if (view) view.want(view.next || view.shown); // the page may have another width by now
      else readStudy();
    };
    for (const tab of tabs) tab.addEventListener("click", () => open(tab));
    root.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
      const at = tabs.indexOf(event.target);
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
      if (at < 0 || to === undefined) return;
      event.preventDefault();
      const next = tabs.at(to % tabs.length);
      next.focus();
      open(next);
    });
    const named = (name) => tabs.find(({ dataset }) => dataset.kind === name);
    G.on("tab", (name) => named(name) && open(named(name)));
    open(named(G.link?.tab) || tabs[0]);
  });
})();
