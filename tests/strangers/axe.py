"""axe-core, a checker of accessibility, in the page that a test is at."""

from __future__ import annotations

from playwright.async_api import Page
from tests.strangers.programs import PACKAGES

_AXE = PACKAGES / "axe-core" / "axe.min.js"
_VIOLATIONS = """async rules => {
    const some = rules.length ? {runOnly: rules} : {}
    const found = await axe.run({resultTypes: ["violations"], ...some})  // what is well takes most of the time to tell
    return found.violations.map(one => [one.id, ...one.nodes.map(node => node.html)])
}"""
_SETTLED = """async () => {
    await document.fonts.ready
    await new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))
    await Promise.all(document.getAnimations().map(animation => animation.finished.catch(() => {})))
}"""
"""Buttons are armed after half a second and their colours change then: in between, no contrast is the right one."""
_DISARMED = "form[data-arms]:not([data-armed=yes])"


async def require_accessible(page: Page, *rules: str) -> None:
    """Nothing is wider than the screen, and axe-core has nothing to say, however small; or only by these rules."""
    await page.locator(_DISARMED).wait_for(state="detached")
    await page.evaluate(_SETTLED)
    wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, "the page has to be scrolled sideways"
    if not await page.evaluate("'axe' in window"):
        await page.add_script_tag(path=_AXE)
    found = await page.evaluate(_VIOLATIONS, list(rules))
    assert not found, found


async def require_accessible_everywhere(page: Page) -> None:
    """The same on a wide screen and on a phone, in light and in dark colours. Dark colours change nothing else."""
    await require_accessible(page)
    await page.emulate_media(color_scheme="dark")
    await require_accessible(page, "color-contrast")
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size({"width": 390, "height": 844})
    await require_accessible(page)
    await page.set_viewport_size({"width": 1280, "height": 800})
