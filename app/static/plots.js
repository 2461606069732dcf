// Plotly views: figures come finished from Python, this draws them on one div each, with the
// page's colours, at most four times a second, never while a pointer is down.
(() => {
  "use strict";
  const G = window.GLANCE;
  if (G.plots) return;
  const { el } = G;
  const GAP = 250; // ms between two redraws of one view
  const CONFIG = { displaylogo: false, responsive: true, scrollZoom: false, doubleClick: "reset+autosize",
    modeBarButtonsToRemove: ["lasso2d", "select2d", "toImage"] };
  const views = [];
  G.plots = { views, redraws: 0 };
  const lane = () => G.trace.focus();

  // --- one scheduler for the page: newest figure wins, one view a frame -----------------------
  let down = false, timer = 0;
  addEventListener("pointerdown", () => { down = true; }, true);
  for (const name of ["pointerup", "pointercancel"]) {
    addEventListener(name, () => { down = false; schedule(0); }, true);
  }
  // a button that was let go outside the window, or over its menu, is never reported
  addEventListener("pointermove", ({ buttons }) => {
    if (down && !buttons) { down = false; schedule(0); }
  }, true);
  document.addEventListener("visibilitychange", () => schedule(0));
  const schedule = (wait) => {
    if (timer && wait) return;
    clearTimeout(timer);
    timer = setTimeout(() => requestAnimationFrame(turn), wait);
  };
  const turn = () => {
    timer = 0;
    if (down || document.hidden || !window.Plotly) return window.Plotly ? undefined : schedule(100);
    const now = performance.now();
    const waiting = views.filter((view) => view.waits());
    const due = waiting.filter((view) => now >= view.notBefore);
    if (due.length) {
      due.sort((a, b) => a.drawn - b.drawn);
      due[0].draw();
    }
    const rest = views.filter((view) => view.waits());
    if (rest.length) schedule(Math.max(16, Math.min(...rest.map((view) => view.notBefore)) - now));
  };

  // --- colours by role -------------------------------------------------------------------------
  const palette = () => {
    const style = getComputedStyle(document.body);
    return (name) => style.getPropertyValue(`--g-${name}`).trim() || style.getPropertyValue("--g-muted").trim();
  };
  // Text of the trace as Plotly draws it literally: in labels it reads tags and entities.
  const literal = (tokens) => tokens.map(({ text }) => G.glyphs(text)).join("")
    .replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const words = {
    token: (x) => literal(lane()?.tokens.slice(x, x + 1) || []),
    round: (x) => {
      const step = lane()?.rounds.find((each) => each.r === x);
      return literal(step ? step.lane.tokens.slice(step.from, step.to) : []);
    },
  };
  const borders = (ends) => ({ type: "path", path: ends.map((x) => `M${x},0V1`).join(""), yref: "paper",
    line: { width: 1, dash: "dot" }, layer: "below", name: "line" });
  const dress = (figure) => {
    const colour = palette();
    const font = { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("muted") };
    const data = figure.data.map((trace) => {
      const role = trace.meta?.role;
      if (trace.type === "bar") {
        const pattern = { ...trace.marker?.pattern, fgcolor: colour("card"), fillmode: "overlay" };
        const spell = words[trace.meta.words];
        return { ...trace, ...(spell && { customdata: trace.x.map(spell) }),
          marker: { ...trace.marker, color: colour(role), pattern, line: { width: 0 } } };
      }
      if (!trace.meta?.nodes) {
        const tint = { color: colour(role) };
        return { ...trace, line: { ...trace.line, ...tint }, marker: { ...trace.marker, ...tint }, error_x: { ...trace.error_x, ...tint } };
      }
      const solid = role === "accepted" || role === "bonus";
      const tint = role === "root" ? colour("ink") : colour(role);
      return {
        ...trace,
        marker: { ...trace.marker, color: solid || role === "root" ? tint : colour("card"), line: { ...trace.marker.line, color: tint } },
        textfont: { size: 11, family: "ui-monospace, monospace", color: solid || role === "root" ? colour("card") : tint },
      };
    });
    const axis = (given) => ({
      ...given, gridcolor: colour("line"), linecolor: colour("line"), zerolinecolor: colour("line"), automargin: true,
      title: { ...given?.title, font, standoff: 8 }, tickfont: font,
    });
    const { ends, parted } = figure.layout.meta || {};
    const drawn = [...(figure.layout.shapes || []), ...(parted ? [borders(ends)] : [])];
    const shapes = drawn.map((shape) => (shape.name === "copied"
      ? { ...shape, fillcolor: colour(shape.name) } : { ...shape, line: { ...shape.line, color: colour(shape.name) } }));
    const hoverlabel = { bgcolor: colour("card"), bordercolor: colour("line"), font: { ...font, color: colour("ink") }, align: "left" };
    const modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("muted"), activecolor: colour("ink") };
    const layout = { ...figure.layout, font, shapes, hoverlabel, modebar, autosize: true,
      legend: { ...figure.layout.legend, font }, xaxis: axis(figure.layout.xaxis), yaxis: axis(figure.layout.yaxis) };
    return { data, layout };
  };

  const COLUMN = 34; // least pixels a depth of a tree

  class View {
    constructor(name, root) {
      Object.assign(this, { name, root, next: null, shown: null, notBefore: 0, drawn: 0, zoom: {}, run: null });
      this.div = root.querySelector(".g-plot");
      this.caption = root.querySelector(".g-plot-caption");
      this.mark = el("div", { class: "g-mark", hidden: true });
      this.div.parentNode.append(this.mark);
      views.push(this);
    }
    // A view in a closed tab is drawn when that is opened.
    waits() { return this.next && this.root.offsetParent !== null; }
    want(figure) {
      if (!figure) return;
      this.next = figure;
      schedule(0);
    }
    // The reader's zoom outlives every figure, and the start of a new live run: Plotly itself
    // keeps it only while uirevision, the run, stays.
    carry(layout) {
      if (layout.uirevision !== this.run && G.player.source !== "live") this.zoom = {};
      this.run = layout.uirevision;
      for (const [axis, range] of Object.entries(this.zoom)) {
        layout[axis] = { ...layout[axis], range, autorange: false };
      }
    }
    draw() {
      const figure = this.next;
      this.next = null;
      this.shown = figure;
      const started = performance.now();
      const { data, layout } = dress(figure);
      this.carry(layout);
      this.widen(layout);
      if (!this.div._context) {
        window.Plotly.newPlot(this.div, [], {}, CONFIG);
        // it would look for fill patterns under today's address, which changes with the round
        this.div._context._baseUrl = "";
      }
      window.Plotly.react(this.div, data, layout); // with a config it would begin a new context
      G.plots.redraws += 1;
      if (!this.wired) this.wire();
      this.caption.textContent = figure.layout.meta?.caption || "";
      this.div.dataset.nodes = data.filter((t) => t.meta?.nodes).reduce((n, t) => n + t.x.length, 0);
      const cost = performance.now() - started;
      this.drawn = performance.now();
      this.notBefore = this.drawn + Math.max(GAP, 4 * cost);
      this.place();
      this.root.dispatchEvent(new Event("drawn"));
    }
    nodes() { return Number(this.div.dataset.nodes || 0); }
    // The figure as drawn, as a data: URL, on the card's colour: it may end up on any ground.
    picture(format) {
      const { width, height } = this.div._fullLayout;
      const layout = { ...this.div.layout, paper_bgcolor: palette()("card") };
      return window.Plotly.toImage({ data: this.div.data, layout }, { format, width, height, scale: format === "png" ? 2 : 1 });
    }
    // A deep tree on a narrow screen keeps its nodes apart and pans in its own box.
    widen(layout) {
      const wanted = (layout.meta?.columns || 0) * COLUMN;
      if (wanted > this.div.parentNode.clientWidth) Object.assign(layout, { autosize: false, width: wanted });
    }
    wire() {
      this.wired = true;
      this.div.on("plotly_relayout", (change) => {
        for (const axis of ["xaxis", "yaxis"]) {
          const range = change[`${axis}.range`] || [change[`${axis}.range[0]`], change[`${axis}.range[1]`]];
          if (range[0] !== undefined) this.zoom[axis] = [...range];
          if (change[`${axis}.autorange`]) delete this.zoom[axis];
        }
        this.place();
      });
      this.div.on("plotly_click", ({ points: [point] }) => this.pick(point));
    }
    // Where a round lies along x, if the figure has rounds there.
    span(step, index) {
      const { by_round: byRound, ends } = this.shown?.layout.meta || {};
      if (byRound) return [step.r - 0.5, step.r + 0.5];
      return ends?.[index + 1] === undefined ? null : [ends[index], ends[index + 1]];
    }
    pick({ x, data, customdata }) {
      const step = lane()?.rounds.find((each, index) => {
        if (data.meta?.picks) return each.r === customdata;
        const [from, to] = this.span(each, index) || [1, 0];
        return x >= from && x <= to;
      });
      if (step) G.player.pick(step);
    }
    // The chosen round is marked by one element over the plot: moving it redraws nothing.
    place() {
      const step = G.player.round;
      const span = step && this.span(step, step.lane.rounds.indexOf(step));
      const full = this.div._fullLayout;
      this.mark.hidden = !span || !full?.xaxis;
      if (this.mark.hidden) return;
      const { xaxis, _size: size } = full;
      const clamp = (x) => Math.min(Math.max(xaxis.l2p(x), 0), xaxis._length);
      const [left, right] = [clamp(span[0]), clamp(span[1])];
      this.mark.hidden = right <= left;
      Object.assign(this.mark.style, { left: `${size.l + left}px`, width: `${right - left}px`, top: `${size.t}px`, height: `${size.h}px` });
    }
  }

  G.on("theme", () => views.forEach((view) => view.shown && view.want(view.next || view.shown)));
  G.on("round", () => views.forEach((view) => view.place()));
  addEventListener("resize", () => setTimeout(() => views.forEach((view) => view.place()), 200));

  // --- figures of whole lanes: prefix and entropy -------------------------------------------------
  const streamed = ({ props, watch }, onValue) => {
    let latest = G.parse(props.value);
    // A figure may arrive before its trace does; one of an older run never shows.
    const show = () => {
      if (latest?.run !== G.trace.run) return;
      const value = latest;
      latest = null;
      onValue(value);
    };
    watch("value", () => { latest = G.parse(props.value); show(); });
    G.on("trace", show);
    show();
  };
  const whole = (kind, rows) => G.region(kind, (handles) => {
    const view = new View(kind, handles.root);
    twin(view, rows);
    streamed(handles, (value) => view.want(value.figure));
    G.on("figures", (figures) => view.want(figures[kind]));
    const jump = handles.root.querySelector(".g-jump");
    if (jump) jumping(jump);
  });
  // The round that wrote the token of which the target was least sure; a root token of none opens
  // the first.
  const jumping = (button) => {
    const goal = () => {
      const { tokens = [], rounds = [] } = lane() || {};
      const [first] = tokens;
      const unsure = tokens.reduce((most, each) => (each.h > most.h ? each : most), first);
      return { unsure, step: unsure && rounds.find((step) => unsure.index < step.to) };
    };
    button.addEventListener("click", () => {
      const { unsure, step } = goal();
      G.player.pick(step);
      G.emit("unsure", { lane: step.lane, index: unsure.index });
    });
    button.addEventListener("blur", () => G.emit("sure"));
    const show = () => { button.disabled = !goal().step; };
    for (const topic of ["trace", "lane"]) G.on(topic, show);
    show();
  };

  // --- the tree: of the chosen round, asked from the server unless it came with the stream -------
  G.region("tree", (handles) => {
    const view = new View("tree", handles.root);
    const known = new Map();
    let asking = false, wanted = null;
    const key = (step) => `${step.lane.name} ${step.r}`;
    const ask = async () => {
      if (asking || !wanted) return;
      const step = wanted;
      wanted = null;
      asking = true;
      const run = G.trace.run;
      const figure = G.parse(await handles.server.tree_of(step.raw).catch(() => null));
      if (figure && run === G.trace.run) {
        known.set(key(step), figure);
        if (G.player.round === step) view.want(figure);
      }
      setTimeout(() => { asking = false; ask(); }, GAP);
    };
    const choose = (step) => {
      if (!step?.verbs.build) return;
      if (known.has(key(step))) { view.want(known.get(key(step))); return; }
      wanted = step;
      ask();
    };
    twin(view, treeList);
    if (matchMedia("(max-width: 640px)").matches) handles.root.querySelector("details").open = true;
    G.on("trace", ({ fresh }) => fresh && known.clear());
    G.on("round", choose);
    streamed(handles, ({ figure }) => {
      const r = figure.layout.meta?.round;
      if (r === undefined) view.want(figure);
      else known.set(`${G.trace.told()?.name} ${r}`, figure);
      choose(G.player.round);
    });
    choose(G.player.round);
  });

  // --- text twins: the same content without a picture ----------------------------------------------
  const twin = (view, make) => {
    const details = view.root.querySelector("details");
    const body = view.root.querySelector(".g-twin");
    const fill = () => details.open && body.replaceChildren(make() || "Nothing yet.");
    details.addEventListener("toggle", fill);
    view.root.addEventListener("drawn", fill);
    G.on("round", fill);
  };
  const tokenText = (token) => G.glyphs(token.text);
  const table = (heads, rows) => el("table", {},
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell) => el("td", {}, String(cell)))))));
  const treeList = () => {
    const step = G.player.round;
    const tree = step?.verbs.build?.tree;
    if (!tree) return null;
    // an end token or the limit may cut the path that the target walked
    const walked = (step.verbs.accept?.verdict.path || []).slice(0, step.accepted + 1);
    const path = new Set(walked);
    // the row of the i-th node of the path decided on the i-th committed token
    const best = new Map(walked.map((node, at) => [node, step.lane.tokens[step.from + at]?.top || []]));
    const five = (node) => !best.get(node)?.length ? "" : ", target's best after it "
      + best.get(node).map(([, text, p]) => `${G.glyphs(text)} ${p}`).join(", ");
    const lists = [el("ol")];
    tree.parent.forEach((parent, node) => {
      const fate = node === 0 ? "root" : path.has(node) ? "accepted" : "rejected";
      const { p_target: p, h } = step.verbs.verify || {};
      const short = (value) => (typeof value === "number" ? value.toFixed(3) : "unknown");
      const words = (node ? `, drafter ${short(tree.p_draft[node])} (rank ${tree.rank?.[node]}), target ${short(p?.[node])}` : "")
        + `, entropy after it ${short(h?.[node])} nats` + five(node);
      const item = el("li", { class: `g-${fate}` }, el("code", {}, G.glyphs(tree.text[node])), ` ${fate}${words}`);
      const home = parent < 0 ? lists[0] : lists[parent + 1] || lists[0];
      home[path.has(node) ? "prepend" : "append"](item);
      const inner = el("ol");
      item.append(inner);
      lists[node + 1] = inner;
    });
    const bonus = step.to - step.from > step.accepted && step.verbs.accept?.verdict.bonus;
    if (bonus) lists[0].append(el("li", { class: "g-bonus" }, el("code", {}, G.glyphs(bonus.text)), " bonus token, after the accepted path"));
    return lists[0];
  };
  Object.assign(G.plots, { View, twin, table, streamed });
  whole("prefix", () => table(["round", "accepted", "tokens", "text"], (G.trace.focus()?.rounds || []).map((step) =>
    [step.r, step.accepted, step.to - step.from, step.lane.tokens.slice(step.from, step.to).map(tokenText).join("")])));
  whole("entropy", () => table(["token", "text", "origin", "nats"], (G.trace.focus()?.tokens || []).map((token) =>
    [token.index, tokenText(token), token.corrected ? "corrected" : token.origin, Number(token.h).toFixed(3)])));
})();
