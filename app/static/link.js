// A link to what is shown: ?ex=ID&round=N&tab=VIEW&theme=dark. Only the recorded runs of the shipped
// examples have one: of the reader's own pages and questions nothing ever stands in an address.
(() => {
  "use strict";
  const G = window.GLANCE;
  if (G.link) return;
  const VIEWS = ["tree", "prefix", "entropy"]; // always open
  const TABS = ["acceptance", "law", "stages", "study"];
  const KNOWN = { tab: [...VIEWS, ...TABS], theme: ["dark", "light"] };
  const SETTLE_MS = 300;
  const KEYS = ["ex", "round", "tab", "theme"];

  // What the reader asked for by a link or has chosen since; what nobody chose stands in no link.
  const asked = new URLSearchParams(location.search);
  G.link = { followed: KEYS.some((key) => asked.has(key)) };
  const given = (name) => (KNOWN[name].includes(asked.get(name)) ? asked.get(name) : null);
  const chosen = { tab: null, theme: null };
  let examples = [], wish = asked.get("ex");

  // The example whose recorded run is on the page.
  const shown = () => (G.player.source === "recorded" && G.trace.isOfPage()
    ? examples.find((each) => each.chosen)?.id : null);

  G.link.address = () => {
    const url = new URL(location.href);
    for (const key of KEYS) url.searchParams.delete(key);
    const { follow, round } = G.player;
    const parts = { ex: shown(), round: follow ? null : round?.r, ...chosen };
    if (parts.ex) for (const key of KEYS) if (parts[key] != null) url.searchParams.set(key, parts[key]);
    return url.href;
  };

  // Browsers limit how often an address may change: a slider that is dragged writes once.
  let timer = 0;
  const write = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const address = G.link.address();
      if (wish === null && address !== location.href) history.replaceState(history.state, "", address);
    }, 250);
  };

  // --- following the link that opened the page ---------------------------------------------
  const settle = () => {
    if (wish !== null && shown() === wish) {
      wish = null;
      const step = G.trace.focus()?.rounds.find((each) => String(each.r) === asked.get("round"));
      if (step) { G.player.stop(); G.player.pick(step); }
      G.link.tab = chosen.tab; // for the tabs, if they are not there yet
      G.emit("tab", chosen.tab);
      const goal = TABS.includes(chosen.tab) ? "tabs" : chosen.tab;
      // of the first example this comes before the regions have their heights
      setTimeout(() => document.getElementById(`g-${goal}`)?.scrollIntoView({ block: "center" }), SETTLE_MS);
    }
    write();
  };
  let sent = false;
  G.on("examples", ({ items, pick }) => {
    examples = items;
    const index = items.findIndex((each) => each.id === wish);
    if (wish !== null && (index < 0 || (sent && !items[index].chosen))) {
      wish = null; // no such example, or the reader has gone on to another
    } else if (wish !== null && !sent) {
      sent = true;
      Object.assign(chosen, { tab: given("tab"), theme: given("theme") });
      if (chosen.theme) document.body.classList.toggle("dark", chosen.theme === "dark");
      if (!items[index].chosen) setTimeout(() => pick(index), 0);
    }
    settle();
  });
  for (const topic of ["trace", "page", "state", "follow", "round"]) G.on(topic, settle);

  // --- what the reader chooses ----------------------------------------------------------------
  const look = ({ target }) => {
    const tab = VIEWS.find((name) => target.closest?.(`.g-root.g-${name}`))
      || TABS.find((name) => target.closest?.(`#g-tab-${name}, #g-panel-${name}`));
    if (tab) { chosen.tab = tab; write(); }
    if (target.closest?.(".g-theme")) { chosen.theme = document.body.classList.contains("dark") ? "dark" : "light"; write(); }
  };
  document.addEventListener("click", look);
  document.addEventListener("focusin", look);

  G.region("link", ({ root }) => {
    const button = root.querySelector("button");
    const told = root.querySelector(".g-told");
    button.addEventListener("click", async () => {
      const address = G.link.address();
      try {
        await navigator.clipboard.writeText(address);
        told.textContent = "Link copied.";
      } catch { // no clipboard without https, or the reader said no
        told.textContent = address;
      }
    });
    const show = () => {
      button.disabled = !shown();
      button.title = button.disabled ? "Only recorded runs of the examples can be linked: your pages stay with you." : "";
      told.textContent = "";
    };
    for (const topic of ["examples", "trace", "page", "state"]) G.on(topic, show);
    show();
  });
})();
