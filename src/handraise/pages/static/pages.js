// Show and hide what was typed. Everything works without it.
"use strict";
for (const button of document.querySelectorAll("button[data-shows]")) {
  const field = document.getElementById(button.dataset.shows);
  button.hidden = false;
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!shown));
    field.classList.toggle("shown", !shown);
    if (field.type !== "textarea") field.type = shown ? "password" : "text";
    field.focus();
  });
}
