// The Export menu: the run as files. The picture of the page goes into one only if that is ticked.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;

  const save = (name, blob) => {
    const url = URL.createObjectURL(blob);
    el("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  const blob = (type, ...parts) => new Blob(parts, { type });

  G.region("export", ({ root, server }) => {
    const menu = root.querySelector("details");
    const head = menu.querySelector("summary");
    const tick = menu.querySelector("input");
    const told = root.querySelector(".g-told");
    const tree = () => G.plots.views.find((view) => view.name === "tree");

    // The very text that was streamed, unless the header gets the picture.
    const text = () => {
      if (!tick.checked || !G.trace.isOfPage()) return G.trace.text;
      const end = G.trace.text.indexOf("\n");
      const header = JSON.parse(G.trace.text.slice(0, end));
      header.image.bytes = G.page.src;
      if (header.second_image) header.second_image.bytes = G.page.second.src;
      return JSON.stringify(header) + G.trace.text.slice(end);
    };
    const made = async (answer) => {
      const file = await answer;
      if (typeof file !== "string") throw new Error("the server made no file");
      return file;
    };
    const makers = {
      "trace.jsonl": async () => blob("application/jsonl", text()),
      "replay.html": async () => blob("text/html", await made(server.replay_of(text()))),
      // the mark tells spreadsheets that this is UTF-8
      "rounds.csv": async () => blob("text/csv", "\ufeff", await made(server.rounds_of(G.trace.text))),
      "tree.svg": async () => (await fetch(await tree().picture("svg"))).blob(),
      "tree.png": async () => (await fetch(await tree().picture("png"))).blob(),
    };

    const close = () => { menu.open = false; };
    menu.addEventListener("click", async ({ target }) => {
      const name = target.closest("button")?.dataset.file;
      if (!name) return;
      close();
      head.focus();
      told.textContent = `Making ${name}…`;
      try {
        save(name, await makers[name]());
        told.textContent = `${name} is in your downloads.`;
      } catch (error) {
        console.error(name, error);
        told.textContent = `${name} could not be made.`;
      }
    });
    root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      close();
      head.focus();
    });
    document.addEventListener("pointerdown", (event) => menu.contains(event.target) || close());

    const show = () => {
      for (const button of menu.querySelectorAll("button")) {
        button.disabled = button.dataset.file.startsWith("tree.") ? !tree()?.nodes() : !G.trace.header;
      }
      tick.disabled = !G.trace.isOfPage();
      if (tick.disabled) tick.checked = false;
    };
    for (const topic of ["trace", "page", "round"]) G.on(topic, show);
    menu.addEventListener("toggle", show);
    show();
  });
})();
