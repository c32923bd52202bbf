// What a page does by itself. Everything can be answered without it, but for what needs a passkey.
"use strict";
{
  const body = document.body;
  const form = document.querySelector("form[data-arms]");
  let leaving = false;
  let signed = false;  // the passkey was used, or cannot be: the desk says what it thinks of it
  let save = async () => {};

  // A button that accepts stays disarmed for a moment: typing ahead is no consent. The desk checks it too.
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
      leaving = true;
    });
    addEventListener("pageshow", () => { leaving = signed = false; });
  }

  // A passkey: the desk says what it is asked for, the browser asks the person, and the form takes what came of it.
  const says = form && form.querySelector("[data-says]");
  const troubles = {
    NotAllowedError: "The passkey was cancelled, or took too long. Nothing was sent. Press the button again when you are ready.",
    SecurityError: "Passkeys work only at this desk’s own address. Close this tab and open the desk again.",
    InvalidStateError: "This device has a passkey for this desk already.",
    Unsupported: "This browser has no passkeys. Use a current Chrome, Edge, Firefox or Safari.",
  };
  const withPasskey = async (button) => {
    const label = button.textContent;
    const named = (value) => new URLSearchParams({ csrf: form.querySelector("[name=csrf]").value, ...value });
    button.setAttribute("aria-disabled", "true");
    button.textContent = "Waiting for your passkey …";
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
      says.textContent = troubles[error.name] || `The passkey did not work (${error.name}). Nothing was sent.`;
      says.hidden = false;
      button.textContent = label;
      button.removeAttribute("aria-disabled");
      button.focus();
      if (form.dataset.trouble) fetch(form.dataset.trouble, { method: "POST", body: named({ why: error.name }) }).catch(() => {});
    }
  };

  // Drafts are kept by the desk, so that a reload or a closed tab loses nothing.
  if (form && form.dataset.draft && form.querySelector("[name=fields]")) {
    let timer = 0;
    save = () => {
      clearTimeout(timer);
      timer = 0;
      return fetch(form.dataset.draft, {
        method: "POST",
        body: new URLSearchParams(new FormData(form)),
        keepalive: true,
      }).catch(() => {});
    };
    form.addEventListener("input", (event) => {
      const field = event.target.closest(".field");
      const mark = field && field.querySelector(".suggested");
      if (mark) mark.hidden = true;
      clearTimeout(timer);
      timer = setTimeout(save, 300);
    });
    addEventListener("pagehide", () => { if (timer && !leaving) save(); });
  }

  const link = document.querySelector("#main a[href^='#']");
  if (link) {
    document.querySelector("#main").addEventListener("click", (event) => {
      const to = event.target.closest("a[href^='#']");
      const field = to && document.getElementById(to.hash.slice(1));
      if (field) { event.preventDefault(); field.focus(); field.scrollIntoView({ block: "center" }); }
    });
  }

  // News: how many wait, and whether the question on this page still does.
  const refresh = async () => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const old = document.getElementById("inbox");
    const focused = document.activeElement && old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceWith(document.adoptNode(page.getElementById("inbox")));
    document.title = page.title;
    const again = focused && document.getElementById(focused);
    if (again) again.focus();
  };
  if (body.dataset.events) {
    let before = null;
    const news = new EventSource(body.dataset.events);
    news.addEventListener("waiting", (event) => {
      const waiting = JSON.parse(event.data);
      const now = waiting.join();
      for (const count of document.querySelectorAll("[data-count]")) count.textContent = waiting.length;
      if (before !== null && now !== before) {
        document.querySelector("[data-news]").textContent =
          waiting.length === 1 ? "One question waits." : `${waiting.length} questions wait.`;
      }
      const listed = () =>
        [...document.querySelectorAll("#inbox a[data-waits]")].flatMap((a) => a.dataset.waits.split(" ")).sort().join();
      if ("inbox" in body.dataset && (before === null ? listed() !== [...waiting].sort().join() : now !== before)) refresh();
      const here = (body.dataset.question || "").split(" ").filter(Boolean);
      if (here.some((one) => !waiting.includes(one)) && !leaving) {
        leaving = true;
        save().then(() => location.replace(location.pathname));  // of several, the others keep what was typed
      }
      before = now;
    });
    addEventListener("pagehide", () => news.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }
}
