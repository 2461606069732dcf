// What the reader looks at: the clock of the replay, the chosen round, and whether they are stale.
(() => {
  "use strict";
  const G = window.GLANCE;
  if (G.player) return;
  const SLOW_MS = 10000; // length of the slow-motion replay
  const SHORT_MS = 5000; // lanes shorter than this are replayed after the run
  const HOLD_MS = 1400; // pause on the longest accepted block

  const player = {
    now: Infinity, rate: 1, playing: false, follow: true, round: null, source: "recorded", phase: "idle",
    spot: null, pausing: false, paused: false,
  };
  G.player = player;
  let frame = 0, last = 0, hold = 0, ended = null, pending = null;

  player.span = () => Math.max(0, ...[...G.trace.lanes.values()].map((lane) => lane.rounds.at(-1)?.end || 0));
  player.longest = () => (G.trace.focus()?.rounds || [])
    .reduce((best, step) => (step.accepted > (best?.accepted || 0) ? step : best), null);

  // --- the chosen round -------------------------------------------------------------------
  const choose = (step) => {
    if (step === player.round) return;
    player.round = step;
    G.emit("round", step);
  };
  const newest = () => {
    const rounds = G.trace.focus()?.rounds || [];
    if (player.now === Infinity) return rounds.at(-1) || null;
    return rounds.filter((step) => step.end <= player.now).at(-1) || rounds[0] || null;
  };
  // Of two drafting lanes the reader may look at either, once the run is over.
  player.shows = (lane) => lane === G.trace.focus() || (!player.runs() && G.trace.drafting().includes(lane));
  const look = (lane) => {
    if (lane === G.trace.focus()) return;
    G.trace.chosen = lane.name;
    G.emit("lane", lane);
  };
  player.watch = (lane) => {
    const same = lane.rounds.find(({ r }) => r === player.round?.r) || lane.rounds.at(-1) || null;
    look(lane);
    choose(player.follow ? newest() : same);
  };
  player.pick = (step) => { player.follow = false; look(step.lane); choose(step); G.emit("follow"); };
  player.live = () => { player.follow = true; choose(newest()); G.emit("follow"); };

  // --- the clock of the replay -------------------------------------------------------------
  player.stop = () => {
    cancelAnimationFrame(frame);
    player.playing = player.paused = false;
    player.spot = null;
    player.now = Infinity;
    G.emit("time");
    if (player.follow) choose(newest());
  };
  player.play = (rate, pausing = false) => {
    if (!player.span()) return;
    cancelAnimationFrame(frame);
    Object.assign(player, { rate, pausing, playing: true, paused: false, now: 0, follow: true, spot: null });
    hold = 0;
    last = performance.now();
    G.emit("follow");
    frame = requestAnimationFrame(tick);
  };
  // Holds the clock where it is; once more, and it goes on from there.
  player.pause = () => {
    cancelAnimationFrame(frame);
    player.paused = true;
    G.emit("time");
  };
  player.resume = () => {
    player.paused = false;
    last = performance.now();
    G.emit("time");
    frame = requestAnimationFrame(tick);
  };
  player.toggle = () => {
    if (!player.playing) player.slowly();
    else if (player.paused) player.resume();
    else player.pause();
  };
  player.slowly = () => player.play(player.span() / SLOW_MS, true);

  const tick = (stamp) => {
    const passed = Math.min(Math.max(stamp - last, 0), 100); // a frame may bear a time before the click
    last = Math.max(stamp, last);
    if (hold > 0) {
      hold -= passed;
    } else {
      player.now += passed * player.rate;
      const best = player.longest();
      if (player.pausing && player.rate < 1 && best?.accepted > 1 && player.spot !== best && player.now >= best.end) {
        player.now = best.end;
        player.spot = best;
        hold = HOLD_MS;
      }
    }
    if (player.follow) choose(newest());
    G.emit("time");
    if (player.now > player.span()) player.stop();
    else frame = requestAnimationFrame(tick);
  };

  // --- what comes from the server ----------------------------------------------------------
  const autoplay = () => {
    if (G.calm() || ended === G.trace.run || !G.trace.complete()) return;
    const live = player.source === "live";
    if (live && (player.phase !== "done" || player.span() >= SHORT_MS)) return;
    ended = G.trace.run;
    clearTimeout(pending);
    // nothing plays over the round that a reader, or a link, has chosen meanwhile
    pending = setTimeout(() => player.follow && player.slowly(), live ? 900 : 400);
  };
  G.on("trace", ({ fresh }) => {
    if (fresh) {
      cancelAnimationFrame(frame);
      clearTimeout(pending);
      Object.assign(player, { now: Infinity, playing: false, paused: false, follow: true, round: null, spot: null });
      ended = null;
      G.emit("follow");
    }
    // the round views are about the drafting lane as soon as it begins
    if (player.round && player.round.lane !== G.trace.focus()) {
      player.follow = true;
      G.emit("follow");
    }
    if (player.follow) choose(newest());
    checkStale();
    autoplay();
  });

  // A run that was stopped or replaced may still have news on their way: they are dropped.
  const late = ({ run, source }) => {
    const { dropped } = G.trace;
    const stored = source === "recorded" || source === "opened";
    // its lines may have come, and been refused, just before
    if (stored && dropped.delete(run)) queueMicrotask(() => G.emit("again"));
    else if (dropped.has(run)) return true;
    if (player.current && player.current !== run) dropped.add(player.current);
    player.current = stored ? null : run;
    return false;
  };

  // Stop stays in the order of the Tab key, so it is not disabled: it only does nothing.
  const running = (on) => {
    document.body.classList.toggle("g-running", on);
    document.getElementById("g-stop")?.setAttribute("aria-disabled", String(!on));
  };
  player.runs = () => ["running", "waiting"].includes(player.phase);

  // A page that the server still reads is the one that the next run is about: Run waits for it.
  let unread = 0, wanted = null;
  const read = () => {
    const button = wanted;
    clearTimeout(unread);
    unread = 0;
    wanted = null;
    // what became of the reading may be told a moment later
    if (button) setTimeout(() => player.phase === "error" || button.click(), 60);
  };
  player.reads = () => {
    clearTimeout(unread);
    unread = setTimeout(read, 10000); // of a file that the browser refuses nobody will hear
  };
  const chosen = ({ target }) => target.closest?.("#g-file, #g-open") && player.reads();
  for (const way of ["change", "drop"]) document.addEventListener(way, chosen, true);
  G.on("read", read);

  // One press, one run. Gradio's own guard also swallows a press that comes right after Stop, so
  // it is off, and the page looks after it: until the server says what became of the press.
  let unheard;
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("#g-run, #g-stop");
    if (!button) return;
    const busy = document.body.classList.contains("g-running");
    if (button.id === "g-stop") {
      wanted = null;
      if (!busy) event.stopPropagation();
    } else if (unread || busy) {
      event.stopPropagation();
      if (!unread) return;
      wanted = button;
      G.emit("unread");
    } else if (player.phase === "refused") {
      event.stopPropagation(); // there is nothing to ask about, and what is told says why
    } else {
      running(true);
      unheard = setTimeout(() => running(false), 8000);
    }
  }, true);

  G.region("state", ({ root, props, watch }) => {
    const tell = (text, level = "info") => {
      root.textContent = text;
      root.dataset.level = level;
    };
    const show = () => {
      const state = G.parse(props.value) || {};
      if (late(state)) return;
      clearTimeout(unheard);
      player.source = state.source || player.source;
      player.asked = state.asked ?? player.asked;
      player.phase = state.phase || "idle";
      tell(state.text || "", state.level);
      running(player.runs());
      // The parts that come with this, in one go, are still of the run. What comes later is not wanted
      // any more, and may come before any timer of the page fires.
      if (player.phase === "stopped" && player.source === "live") queueMicrotask(() => G.trace.dropped.add(state.run));
      G.emit("state");
      autoplay();
    };
    // Without a network nothing will tell of a run's end: the next one must not wait for it.
    addEventListener("offline", () => {
      if (!document.body.classList.contains("g-running")) return;
      running(false);
      player.phase = "stopped";
      tell("The connection is lost: ask again when it is back.", "warning");
      // what was decoded is kept under the run's id, which nobody else knows
      const kept = { href: `trace/${player.current}`, download: true };
      if (player.current) root.append(" ", G.el("a", kept, "Save this run"), " within ten minutes.");
      G.emit("state");
    });
    G.on("unread", () => tell("The page is still being read: the run begins then."));
    watch("value", show);
    show();
  });

  // --- results of another image or question are greyed -------------------------------------
  const question = () => document.querySelector("#g-question textarea");
  const checkStale = () => {
    const header = G.trace.header;
    const typed = question()?.value.trim();
    // an opened trace without a picture stands alone, until another page is shown
    const alone = player.source === "opened" && !G.page;
    const stale = !!header && typed !== undefined
      && (typed !== (player.asked || "").trim() || !(alone || G.trace.isOfPage()));
    if (stale === document.body.classList.contains("g-stale")) return;
    document.body.classList.toggle("g-stale", stale);
    if (stale && player.playing) player.stop();
    G.emit("stale");
  };
  document.addEventListener("input", (event) => event.target === question() && checkStale());
  for (const topic of ["page", "state", "question"]) G.on(topic, () => setTimeout(checkStale, 60));

  // --- keys, unless someone is typing ------------------------------------------------------
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // what has a Tab stop has keys of its own: a long table scrolls by Home, End and Space
    if (event.target.closest?.("input, textarea, select, button, summary, [contenteditable], [role=slider], [tabindex='0']")) return;
    const rounds = G.trace.focus()?.rounds || [];
    const at = rounds.indexOf(player.round);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: rounds.length - 1 }[event.key];
    if (to !== undefined && rounds[to]) player.pick(rounds[to]);
    else if (event.key === " ") player.toggle();
    else return;
    event.preventDefault();
  });
})();
