"""axe-core, a checker of accessibility, in the page that a test is at."""

from __future__ import annotations

from playwright.async_api import Page
from tests.strangers.programs import PACKAGES

_AXE = PACKAGES / "axe-core" / "axe.min.js"
_VIOLATIONS = """async () => {
    const found = await axe.run({resultTypes: ["violations"]})  // what is well takes most of the time to tell
    return found.violations.map(one => [one.id, ...one.nodes.map(node => node.html)])
}"""
_SETTLED = """async () => {
    await document.fonts.ready
    await new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))
    await Promise.all(document.getAnimations().map(animation => animation.finished.catch(() => {})))
}"""
"""Buttons are armed after half a second and their colours change then: in between, no contrast is the right one."""
_DISARMED = "form[data-arms]:not([data-armed=yes])"


async def require_accessible(page: Page) -> None:
    """Nothing is wider than the screen, and axe-core has nothing to say, however small."""
    await page.locator(_DISARMED).wait_for(state="detached")
    await page.evaluate(_SETTLED)
    wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, "the page has to be scrolled sideways"
    await page.add_script_tag(path=_AXE)
    found = await page.evaluate(_VIOLATIONS)
    assert not found, found
