// Opening a file: chosen or dropped, it goes to the server of this machine, and the next page is shown.
"use strict";

(() => {
  const form = document.getElementById("open");
  if (!form) return;
  const input = document.getElementById("file");
  const status = document.getElementById("opening");
  const most = Number(form.dataset.most);

  const say = (text, wrong) => {
    status.textContent = text;
    status.className = wrong ? "alert" : "";
  };

  const send = (file) => {
    if (file.size > most * 2 ** 20) {
      say(`${file.name} is larger than ${most} MB.`, true);
      return;
    }
    const request = new XMLHttpRequest();
    request.open("POST", form.dataset.open);
    request.setRequestHeader("X-Name", encodeURIComponent(file.name).slice(0, 1500));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) say(`Copying: ${Math.round((100 * event.loaded) / event.total)} %`);
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
      if (answer.to) window.location.assign(answer.to);
      else {
        say(answer.error, true);
        input.value = "";
      }
    };
    say("Copying …");
    request.send(file);
  };

  input.addEventListener("change", () => input.files.length && send(input.files[0]));
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const kind of ["dragover", "dragleave", "drop"]) {
    form.addEventListener(kind, (event) => {
      event.preventDefault();
      form.classList.toggle("over", kind === "dragover");
    });
  }
  form.addEventListener("drop", (event) => event.dataTransfer.files.length && send(event.dataTransfer.files[0]));
})();
