// What a page does by itself. Everything can be answered without it, but for what needs a passkey.
"use strict";
{
  const body = document.body;
  const form = document.querySelector("form[data-arms]");
  const title = document.title.replace(/^\(\d+\) /, "");
  let leaving = false;
  let signed = false;  // the passkey was used, or cannot be: the desk says what it thinks of it
  let save = async () => {};

  // The buttons stay disarmed for a moment: typing ahead decides nothing. The desk checks it too.
  if (form) {
    const guarded = form.querySelectorAll("[data-arm]");
    for (const button of guarded) button.setAttribute("aria-disabled", "true");
    setTimeout(() => {
      for (const button of guarded) button.removeAttribute("aria-disabled");
      form.dataset.armed = "yes";
    }, Number(form.dataset.arms) + 50);
    form.addEventListener("submit", (event) => {
      const button = event.submitter;
      if (leaving || (button && button.getAttribute("aria-disabled") === "true")) {
        event.preventDefault();
        return;
      }
      if (button && button.dataset.passkey && !signed) {
        event.preventDefault();
        withPasskey(button);
        return;
      }
      if (button && "opens" in button.dataset) {
        // The link opens in a tab of its own, from the desk's answer. This page learns from the news that it is over.
        form.querySelector("[data-tab]").value = "yes";
        form.relList.add("noopener");
        button.formTarget = "_blank";
        setTimeout(() => button.setAttribute("aria-disabled", "true"));
        setTimeout(() => button.removeAttribute("aria-disabled"), 3000);
        return;
      }
      leaving = true;
    });
    addEventListener("pageshow", () => { leaving = signed = false; });
    const zone = form.querySelector("[data-zone]");
    if (zone) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
  }

  // A passkey: the desk says what it is asked for, the browser asks the person, and the form takes what came of it.
  const says = form && form.querySelector("[data-says]");
  const troubles = form ? JSON.parse(form.dataset.troubles) : {};
  const withPasskey = async (button) => {
    const label = button.innerHTML;
    const named = (value) => new URLSearchParams({ csrf: form.querySelector("[name=csrf]").value, ...value });
    button.setAttribute("aria-disabled", "true");
    button.textContent = button.dataset.waitsFor;
    says.hidden = true;
    try {
      const answer = await fetch(button.dataset.passkey, {
        method: "POST",
        body: new URLSearchParams(new FormData(form, button)),
      });
      if (answer.ok) {
        if (!window.PublicKeyCredential || !PublicKeyCredential.parseRequestOptionsFromJSON) throw { name: "Unsupported" };
        const options = await answer.json();
        const made = "rp" in options
          ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
          : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
        form.querySelector("[name=passkey]").value = JSON.stringify(made);
      }
      signed = true;
      button.removeAttribute("aria-disabled");
      form.requestSubmit(button);
    } catch (error) {
      says.textContent = troubles[error.name] || troubles.other.replace("{}", error.name);
      says.hidden = false;
      button.innerHTML = label;
      button.removeAttribute("aria-disabled");
      button.focus();
      if (form.dataset.trouble) fetch(form.dataset.trouble, { method: "POST", body: named({ why: error.name }) }).catch(() => {});
    }
  };

  // Drafts are kept by the desk, so that a reload or a closed tab loses nothing. It says how numbers and dates are read.
  if (form && form.dataset.draft && form.querySelector("[name$=here]")) {
    let timer = 0;
    const tell = (told) => {
      for (const [id, text] of Object.entries(told.read)) {
        const place = document.getElementById(`${id}-read`);
        if (place) place.textContent = text ? `${place.dataset.read} ${text}` : "";
      }
      form.querySelector("[data-looked]").value = told.mark;
    };
    save = () => {
      clearTimeout(timer);
      timer = 0;
      return fetch(form.dataset.draft, {
        method: "POST",
        body: new URLSearchParams(new FormData(form)),
        keepalive: true,
      }).then((answer) => answer.ok ? answer.json().then(tell) : null).catch(() => {});
    };
    form.addEventListener("input", (event) => {
      if (event.target.type === "search") return;
      const field = event.target.closest(".field");
      const mark = field && field.querySelector(".suggested");
      if (mark) mark.hidden = true;
      if (field) field.classList.add("edited");
      event.target.removeAttribute("aria-invalid");
      form.querySelector("[data-looked]").value = "";
      clearTimeout(timer);
      timer = setTimeout(save, 300);
    });
    addEventListener("pagehide", () => { if (timer && !leaving) save(); });
  }

  // A long list of options is searched.
  for (const search of document.querySelectorAll("[data-search]")) {
    const list = document.getElementById(search.dataset.search);
    const options = [...list.querySelectorAll(".option")].map((option) => [option, option.textContent.toLowerCase()]);
    const found = search.parentElement.querySelector("[data-found]");
    search.parentElement.hidden = false;
    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [option, text] of options) {
        option.hidden = !words.every((word) => text.includes(word)) && !option.querySelector(":checked");
        if (!option.hidden) shown += 1;
      }
      found.textContent = words.length ? found.dataset.found.replace("{}", shown) : "";
    });
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "ArrowDown") return;
      event.preventDefault();
      const first = options.find(([option]) => !option.hidden);
      if (first) first[0].querySelector("input").focus();
    });
  }

  // How long the question can still be answered.
  const left = document.querySelector("[data-left]");
  if (left) {
    const until = performance.now() + Number(left.dataset.left) * 1000;
    const tick = () => {
      const seconds = Math.max(0, Math.floor((until - performance.now()) / 1000));
      if (seconds < 3600) {
        const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
        left.textContent = left.dataset.words.replace("{}", time);
        left.classList.toggle("soon", seconds < 30);
      }
    };
    tick();
    setInterval(tick, 1000);
  }

  const link = document.querySelector("#main a[href^='#']");
  if (link) {
    document.querySelector("#main").addEventListener("click", (event) => {
      const to = event.target.closest("a[href^='#']");
      const field = to && document.getElementById(to.hash.slice(1));
      if (field) { event.preventDefault(); field.focus(); field.scrollIntoView({ block: "center" }); }
    });
  }

  // A sound for a new question, if the person wants one.
  const wanted = document.querySelector("[data-sound]");
  if (wanted) {
    wanted.closest("[hidden]").hidden = false;
    wanted.checked = localStorage.getItem("handraise-sound") === "yes";
    wanted.addEventListener("change", () => {
      localStorage.setItem("handraise-sound", wanted.checked ? "yes" : "no");
      if (wanted.checked) ring();
    });
  }
  const ring = () => {
    if (localStorage.getItem("handraise-sound") !== "yes") return;
    const audio = new AudioContext();
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    tone.frequency.value = 660;
    volume.gain.setValueAtTime(0.15, audio.currentTime);
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.5);
    tone.connect(volume).connect(audio.destination);
    tone.start();
    tone.stop(audio.currentTime + 0.5);
    body.dataset.rang = String(Number(body.dataset.rang || 0) + 1);
  };

  // News: how many wait, and whether the question on this page still does.
  const refresh = async () => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const old = document.getElementById("inbox");
    const now = page.getElementById("inbox");
    if (!now) {  // the call of the answered question asks on
      location.replace(location.pathname);
      return;
    }
    const focused = document.activeElement && old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceWith(document.adoptNode(now));
    const again = focused && document.getElementById(focused);
    if (again) again.focus();
  };
  if (body.dataset.events) {
    let before = null;
    const news = new EventSource(body.dataset.events);
    news.addEventListener("waiting", (event) => {
      const waiting = JSON.parse(event.data);
      for (const count of document.querySelectorAll("[data-count]")) {
        count.textContent = waiting.length;
        count.hidden = !waiting.length;
      }
      document.title = waiting.length ? `(${waiting.length}) ${title}` : title;
      const changed = before !== null && waiting.join() !== before.join();
      if (changed) {
        document.querySelector("[data-news]").textContent =
          waiting.length === 1 ? body.dataset.one : body.dataset.many.replace("{}", waiting.length);
        if (waiting.some((one) => !before.includes(one))) ring();
      }
      const listed = () =>
        [...document.querySelectorAll("#inbox a[data-waits]")].flatMap((a) => a.dataset.waits.split(" ")).sort().join();
      if ("inbox" in body.dataset && (before === null ? listed() !== [...waiting].sort().join() : changed)) refresh();
      const here = (body.dataset.question || "").split(" ").filter(Boolean);
      if (here.some((one) => !waiting.includes(one)) && !leaving) {
        leaving = true;
        save().then(() => location.replace(location.pathname));  // of several, the others keep what was typed
      }
      before = waiting;
    });
    addEventListener("pagehide", () => news.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }
}
