// The trace in the page: one append-only JSONL text, parsed tail by tail into lanes and rounds.
(() => {
  "use strict";
  const G = window.GLANCE;
  if (G.trace) return;

  const trace = {
    text: "", parsed: 0, run: null, header: null, lanes: new Map(), compare: null, copies: [],
    looks: null, chosen: null, dropped: new Set(),
  };
  G.trace = trace;

  const clear = (text) => {
    Object.assign(trace, {
      text, parsed: 0, run: null, header: null, lanes: new Map(), compare: null, copies: [],
      looks: null, chosen: null,
    });
  };

  trace.complete = () => trace.lanes.size > 0
    && (trace.header?.lanes || []).every((name) => trace.lanes.get(name)?.finish);

  trace.drafting = () => [...trace.lanes.values()].filter((lane) => lane.name !== "ar");
  // The lane whose answer the places on the page belong to.
  trace.told = () => trace.drafting()[0] || trace.lanes.values().next().value || null;
  // The lane that the round views show: the same one, unless the reader has chosen the other.
  trace.focus = () => trace.lanes.get(trace.chosen) || trace.told();

  // Whether the trace is about the pages that are shown: the same parts of the same file.
  trace.isOfPage = () => {
    const { image, second_image } = trace.header || {};
    const key = (page, second) => JSON.stringify(
      [page.sha256, page.page ?? 1, page.crop ?? null, second ? second.page ?? 1 : null]);
    return !!G.page && !!image && key(image, second_image) === key(G.page, G.page.second);
  };

  trace.feed = (text) => {
    const firstLine = text.slice(0, text.indexOf("\n"));
    if (trace.dropped.has(G.parse(firstLine)?.run)) return;
    const fresh = !text.startsWith(trace.text) || !trace.text;
    if (fresh) clear(text);
    trace.text = text;
    const end = text.lastIndexOf("\n") + 1;
    const added = text.slice(trace.parsed, end).split("\n");
    trace.parsed = end;
    const rounds = [];
    for (const raw of added) {
      const line = raw && G.parse(raw);
      if (line) take(line, raw, rounds);
    }
    G.emit("trace", { fresh, rounds });
  };

  const lane = (name) => {
    if (!trace.lanes.has(name)) {
      trace.lanes.set(name, { name, prefill: null, chars: [], tokens: [], rounds: [], finish: null, open: new Map() });
    }
    return trace.lanes.get(name);
  };

  const take = (line, raw, rounds) => {
    if (line.kind === "header") {
      trace.header = { ...line, lanes: [line.lanes].flat().map(String) };
      trace.run = line.run;
    }
    if (line.kind === "compare") trace.compare = line;
    if (line.kind === "grounding") Object.assign(trace, { copies: line.copy || [], looks: line });
    if (!line.lane) return;
    const home = lane(line.lane);
    if (line.kind === "prefill") {
      home.prefill = line;
      home.chars.push(...Array.from(line.root.text));
      const root = { ...line.root, origin: "target", start: 0, end: home.chars.length, top: line.top };
      home.tokens.push(token(home, root, 0, 0, 0));
    } else if (line.kind === "finish") {
      home.finish = line;
    } else if (line.kind === "commit") {
      rounds.push(commit(home, line, raw));
    } else if ("r" in line) {
      const verbs = home.open.get(line.r) || { raw: [] };
      verbs[line.kind] = line;
      verbs.raw.push(raw);
      home.open.set(line.r, verbs);
    }
  };

  // start and end count characters, not UTF-16 units: hence the array.
  const token = (home, line, index, r, time) => ({
    index, r, time, id: line.id, origin: line.origin, corrected: !!line.corrected, h: line.h,
    top: Array.isArray(line.top) ? line.top : [], text: home.chars.slice(line.start, line.end).join(""),
  });

  const commit = (home, line, raw) => {
    home.chars.push(...Array.from(line.text));
    const verbs = home.open.get(line.r) || { raw: [] };
    home.open.delete(line.r);
    const from = home.tokens.length;
    const start = home.rounds.length ? home.rounds[home.rounds.length - 1].end : 0;
    for (const each of line.tokens) home.tokens.push(token(home, each, home.tokens.length, line.r, line.t));
    const step = {
      lane: home, r: line.r, start, end: line.t, from, to: home.tokens.length, verbs,
      accepted: line.tokens.filter((each) => each.origin === "drafted").length,
      raw: [...verbs.raw, raw].join("\n") + "\n",
    };
    home.rounds.push(step);
    return step;
  };

  // The channel: the component whose value is the trace's text.
  G.region("channel", ({ props, watch }) => {
    const read = () => props.value && trace.feed(props.value);
    watch("value", read);
    G.on("again", read);
    read();
  });
})();
