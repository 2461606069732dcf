// The dialogue about the page: what was asked before, and the ways to go on or to begin anew.
(() => {
  "use strict";
  const G = window.GLANCE;
  const { el } = G;

  G.region("talk", ({ root, props, watch, trigger }) => {
    const list = root.querySelector("ol");
    const again = root.querySelector(".g-again");
    const anew = root.querySelector(".g-anew");
    let taken = null; // the run whose question and answer are in the list already
    let answered = null; // the run that ended with an answer last

    const offer = () => {
      const { source, phase } = G.player;
      if (source === "live" && phase === "done") answered = G.trace.run;
      const here = answered && answered === G.trace.run && G.trace.isOfPage();
      again.hidden = !here || taken === answered || G.player.runs();
      anew.hidden = list.hidden || G.player.runs();
    };
    const show = () => {
      const turns = G.parse(props.value) || [];
      list.replaceChildren(...turns.map(([asked, told]) => el("li", {},
        el("b", { dir: "auto" }, asked), el("p", { dir: "auto" }, told))));
      list.scrollTop = list.scrollHeight;
      for (const node of [list, root.querySelector("h3")]) node.hidden = !turns.length;
      offer();
    };
    for (const [button, value] of [[again, "again"], [anew, "anew"]]) {
      button.addEventListener("click", () => {
        taken = G.trace.run;
        trigger("select", { value });
        document.querySelector("#g-question textarea").focus();
      });
    }
    for (const topic of ["state", "trace", "page"]) G.on(topic, offer);
    watch("value", show);
    show();
  });
})();
