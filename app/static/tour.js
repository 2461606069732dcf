// The tour: four stops on a first visit, skipped with Escape and never shown again of itself.
// Who follows a link came to see what it shows, and gets no tour.
(() => {
  "use strict";
  const G = window.GLANCE;
  if (G.tour) return;
  const { el } = G;
  const KEY = "glance.tour";
  const WAIT = 700; // ms, for the page to settle
  const STOPS = [
    [".g-document", "The page",
      "A question is asked about this page. Point at a framed place, and the tokens that were read there light up; point at a token, and its place does."],
    [".g-race", "Two ways to one answer",
      "Token by token, every pass of the model writes one token. A drafter proposes a block, and one pass checks it all: fewer bars, the same answer."],
    [".g-answers", "Where each token comes from",
      "Colour and underline tell who wrote a token. A framed block was accepted in one pass; the other answer says how many passes it took for the same tokens."],
    [".g-scrubber", "Round by round",
      "Choose a round with the slider or the arrow keys: its candidate tree shows what was drafted and what the target accepted."],
  ];

  // Where nothing can be remembered, the tour would come again and again: then it never comes.
  const seen = () => {
    try { return localStorage.getItem(KEY) !== null; } catch { return true; }
  };
  const remember = () => {
    try { localStorage.setItem(KEY, "seen"); } catch { /* asked for by its button: nothing to keep */ }
  };

  const count = el("p", { class: "g-tour-count" });
  const title = el("h2", { id: "g-tour-title" });
  const words = el("p", { id: "g-tour-words" });
  const button = (text, run) => {
    const made = el("button", { type: "button", class: "g-button" }, text);
    made.addEventListener("click", run);
    return made;
  };
  const back = button("Back", () => go(at - 1));
  const next = button("Next", () => (at < STOPS.length - 1 ? go(at + 1) : close()));
  const card = el("section", { class: "g-root g-tour", role: "dialog", "aria-labelledby": "g-tour-title",
    "aria-describedby": "g-tour-words", hidden: true },
  count, title, words, el("div", { class: "g-row" }, button("Skip", () => close()), back, next));
  let at = 0, before = null;

  const mark = (place) => {
    document.querySelectorAll(".g-toured").forEach((node) => node.classList.remove("g-toured"));
    place?.classList.add("g-toured");
  };
  const go = (to, scroll = true) => {
    at = to;
    const [name, head, text] = STOPS[at];
    const place = document.querySelector(`.g-root${name}`);
    mark(place);
    if (scroll) place?.scrollIntoView({ block: "start", behavior: G.calm() ? "auto" : "smooth" });
    count.textContent = `Tour, ${at + 1} of ${STOPS.length}`;
    title.textContent = head;
    words.textContent = text;
    back.disabled = at === 0;
    next.textContent = at < STOPS.length - 1 ? "Next" : "Done";
    next.focus({ preventScroll: true });
  };
  const open = () => {
    remember();
    before = document.activeElement;
    document.querySelector(".gradio-container").append(card);
    card.hidden = false;
    go(0, false);
  };
  const close = () => {
    // a hidden button keeps the focus until the next frame, and with it the page's keys
    if (card.contains(document.activeElement)) document.activeElement.blur();
    card.hidden = true;
    mark(null);
    before?.focus({ preventScroll: true });
  };
  document.addEventListener("keydown", (event) => event.key === "Escape" && !card.hidden && close());
  document.addEventListener("click", ({ target }) => target.closest?.(".g-tour-open") && open());

  let waiting = !G.link.followed && !seen();
  const ready = () => {
    for (const each of document.querySelectorAll(".g-tour-open")) each.hidden = false;
    if (!waiting || !G.trace.header) return;
    waiting = false;
    // who has begun to use the page is not interrupted
    setTimeout(() => document.activeElement === document.body && open(), WAIT);
  };
  for (const topic of ["page", "trace", "state"]) G.on(topic, ready);
  G.tour = { open };
})();
