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

    const offer = () => {
      const { source, phase } = G.player;
      const answered = source === "live" && phase === "done" && G.trace.isOfPage();
      again.hidden = !answered || taken === G.trace.run;
      anew.hidden = list.hidden || ["running", "waiting"].includes(phase);
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
