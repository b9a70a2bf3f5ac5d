// Opening files: chosen or dropped, they go to the server of this machine one by one; then the next page is
// shown.
"use strict";

(() => {
  const formOf = (event) => event.target.closest && event.target.closest("form[data-open]");

  const send = (form, files) => {
    const [file, ...others] = files;
    const status = form.querySelector(".opening");
    const most = Number(form.dataset.most);
    const say = (text, wrong) => {
      status.textContent = text;
      status.classList.toggle("alert", Boolean(wrong));
    };
    if (file.size > most * 2 ** 20) {
      say(`${file.name} is larger than ${most} MB.`, true);
      return;
    }
    const of = others.length ? `, ${others.length} more` : "";
    const request = new XMLHttpRequest();
    request.open("POST", form.dataset.open);
    request.setRequestHeader("X-Name", encodeURIComponent(file.name).slice(0, 1500));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) say(`Copying: ${Math.round((100 * event.loaded) / event.total)} %${of}`);
    };
    request.upload.onload = () => say("Reading …");
    request.onerror = () => say("The server does not answer. Is it still running?", true);
    request.onload = () => {
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        answer = { error: request.responseText.trim() };
      }
      if (answer.to && others.length) send(form, others);
      else if (answer.to === window.location.pathname) window.location.reload();
      else if (answer.to) window.location.assign(answer.to);
      else {
        say(answer.error, true);
        form.reset();
      }
    };
    say(`Copying …${of}`);
    request.send(file);
  };

  document.addEventListener("change", (event) => {
    const form = formOf(event);
    if (form && event.target.files && event.target.files.length) send(form, [...event.target.files]);
  });
  document.addEventListener("submit", (event) => formOf(event) && event.preventDefault());
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const form = formOf(event);
      if (!form) return;
      event.preventDefault();
      form.classList.toggle("over", kind === "dragover");
      if (kind !== "drop" || !event.dataTransfer.files.length) return;
      const several = form.querySelector("input[type=file]").multiple;
      const dropped = [...event.dataTransfer.files];
      send(form, several ? dropped : dropped.slice(0, 1));
    });
  }
})();
