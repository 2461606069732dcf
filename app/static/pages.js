// Which pages of the file a question is about, and which part of a page.
(() => {
  "use strict";
  const G = window.GLANCE;
  const SMALLEST = 0.02; // of a side: less was a click, or a slip
  const SIDES = ["left", "top", "right", "bottom"];
  const WHOLE = [0, 0, 1, 1];

  G.region("pages", ({ root, trigger }) => {
    const form = root.querySelector("form");
    const several = root.querySelector(".g-several");
    const parts = root.querySelector("details");
    const whole = root.querySelector(".g-whole");
    const { page, second } = form.elements;
    const sides = SIDES.map((side) => form.elements[side]);

    const choose = (pages, crop) => {
      G.player.reads();
      trigger("select", { value: { pages, crop } });
    };
    const turn = () => choose([page.value, second.value].filter(Boolean), null);
    const cut = (crop) => choose([G.page.page], String(crop) === String(WHOLE) ? null : crop);

    const open = () => parts.open && !parts.hidden && !form.hidden;
    const crops = () => document.body.classList.toggle("g-cropping", open());
    const show = () => {
      const now = G.page;
      form.hidden = !now || now.copy;
      parts.hidden = !!now?.second;
      crops();
      if (form.hidden) return;
      several.hidden = now.pages < 2;
      whole.hidden = !now.crop;
      root.querySelector(".g-of").textContent = `of ${now.pages}`;
      for (const input of [page, second]) input.max = now.pages;
      page.value = now.page;
      second.value = now.second?.page ?? "";
      sides.forEach((input, index) => { input.value = Math.round(1000 * (now.crop || WHOLE)[index]) / 10; });
    };
    G.on("page", show);
    G.on("state", () => {
      if (G.player.phase === "error") show(); // a number that was refused goes
      if (G.player.runs()) parts.open = false; // pointing at the page is for the answer again
    });
    show();

    page.addEventListener("change", turn);
    second.addEventListener("change", turn);
    several.addEventListener("click", ({ target }) => {
      const to = G.page.page + Number(target.closest("button")?.dataset.by || 0);
      if (to === G.page.page || to < 1 || to > G.page.pages) return;
      page.value = to;
      turn();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if ([page, second].includes(document.activeElement)) return; // its change turns the page
      cut(sides.map((input) => input.value / 100));
    });
    whole.addEventListener("click", () => cut(null));

    // --- a part drawn on the page itself, while the fields for it are open ---------------------
    parts.addEventListener("toggle", crops);
    document.addEventListener("pointerdown", (event) => {
      const frame = event.target.closest?.(".g-document .g-frame");
      if (frame && open() && event.button === 0) drag(frame, event);
    });
    const drag = (frame, start) => {
      start.preventDefault();
      frame.setPointerCapture(start.pointerId);
      const mark = frame.appendChild(G.el("div", { class: "g-cut" }));
      const box = frame.getBoundingClientRect();
      const at = (event) => [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]
        .map((share) => Math.min(Math.max(share, 0), 1));
      const [a, b] = at(start);
      const span = (event) => {
        const [c, d] = at(event);
        return [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)];
      };
      const draw = (event) => {
        const [x0, y0, x1, y1] = span(event).map((share) => `${100 * share}%`);
        Object.assign(mark.style, { left: x0, top: y0, right: `calc(100% - ${x1})`, bottom: `calc(100% - ${y1})` });
      };
      const end = (event) => {
        frame.removeEventListener("pointermove", draw);
        for (const name of ["pointerup", "pointercancel"]) frame.removeEventListener(name, end);
        mark.remove();
        const [x0, y0, x1, y1] = span(event);
        if (event.type === "pointercancel" || x1 - x0 < SMALLEST || y1 - y0 < SMALLEST) return;
        const [left, top, right, bottom] = G.page.crop || WHOLE; // what is shown may be a part itself
        const [w, h] = [right - left, bottom - top];
        cut([left + x0 * w, top + y0 * h, left + x1 * w, top + y1 * h].map((side) => Math.min(side, 1)));
      };
      draw(start);
      frame.addEventListener("pointermove", draw);
      for (const name of ["pointerup", "pointercancel"]) frame.addEventListener(name, end);
    };
  });
})();
