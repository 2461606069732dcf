// Other ways to the upload field than a drop on it or a click: a paste, a drop anywhere on the page,
// and the camera of a phone.
(() => {
  "use strict";
  const G = window.GLANCE;
  if (G.give) return;

  G.give = (file) => {
    const field = document.querySelector("#g-file input[type=file]");
    if (!field) return; // a file is on its way already
    const files = new DataTransfer();
    files.items.add(file);
    field.files = files.files;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };

  document.addEventListener("paste", (event) => {
    const { files, types } = event.clipboardData;
    const typing = event.target.closest?.("input, textarea");
    // copied text often brings a picture of itself, which is not what goes into a text field
    if (!files.length || (typing && types.includes("text/plain"))) return;
    event.preventDefault();
    G.give(files[0]);
  });

  // Otherwise the browser leaves the page for the file. Fields that take files see to it themselves.
  const carries = ({ dataTransfer, target }) => dataTransfer?.types.includes("Files")
    && !target.closest?.("#g-file, #g-open");
  document.addEventListener("dragover", (event) => carries(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files.length) G.give(event.dataTransfer.files[0]);
  });

  G.region("intake", ({ root }) => {
    const camera = root.querySelector("button");
    const shot = root.querySelector("input");
    camera.hidden = !matchMedia("(pointer: coarse)").matches; // elsewhere it would ask for a file
    camera.addEventListener("click", () => shot.click());
    shot.addEventListener("change", () => {
      if (shot.files[0]) G.give(shot.files[0]);
      shot.value = "";
    });
  });
})();
