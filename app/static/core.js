// The page's own namespace: regions mount here and talk through one bus.
// Text from documents, traces and file names reaches the DOM through textContent only.
window.GLANCE = window.GLANCE || (() => {
  "use strict";
  const listeners = new Map();
  const regions = {};
  const on = (topic, run) => {
    if (!listeners.has(topic)) listeners.set(topic, []);
    listeners.get(topic).push(run);
  };
  // One region that fails, on a trace that was made by hand, must not keep the others from drawing.
  const emit = (topic, detail) => (listeners.get(topic) || []).forEach((run) => {
    try { run(detail); } catch (error) { console.error(topic, error); }
  });

  // An element with attributes and children; strings become text nodes.
  const el = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) node.setAttribute(name, "");
      else if (value !== false && value != null) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child != null));
    return node;
  };

  const glyphs = (text) => {
    if (!text) return "∅";
    return text.replace(/^ +| +$/g, (run) => "␣".repeat(run.length))
      .replace(/\n/g, "⏎").replace(/\r/g, "␍").replace(/\t/g, "⇥");
  };
  const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`);
  const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
  const LANES = { // app/format.py has the same
    glance: "GLANCE", "glance-chain": "GLANCE chain", eagle3: "EAGLE-3", eagle2: "EAGLE-2", medusa: "Medusa",
    vispec: "ViSpec", hivis: "HiViS", ngram: "Prompt lookup", ar: "Token by token",
  };
  const laneName = (name) => (Object.hasOwn(LANES, name) ? LANES[name] : name);
  const parse = (text) => {
    try { return JSON.parse(text); } catch { return null; }
  };
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  // A region's script: called once with its element and Gradio's handles on the component.
  const region = (kind, start) => { regions[kind] = start; };
  const mount = (kind, element, props, trigger, server, watch) =>
    regions[kind]({ element, props, trigger, server, watch, root: element.querySelector(".g-root") });

  // the body's other classes come and go with every run, and redraw nothing
  const isDark = () => document.body.classList.contains("dark");
  let dark = isDark();
  new MutationObserver(() => {
    if (dark === isDark()) return;
    dark = !dark;
    emit("theme");
  }).observe(document.body, { attributeFilter: ["class"] });
  return { on, emit, el, glyphs, duration, plural, laneName, parse, calm, region, mount };
})();
