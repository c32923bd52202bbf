"""axe-core, a checker of accessibility, in the page that a test is at."""

from __future__ import annotations

from playwright.async_api import Page
from tests.strangers.programs import PACKAGES

_AXE = PACKAGES / "axe-core" / "axe.min.js"
_VIOLATIONS = """async () => {
    const found = await axe.run({resultTypes: ["violations"]})  // what is well takes most of the time to tell
    return found.violations.map(one => [one.id, ...one.nodes.map(node => node.html)])
}"""
_LAID_OUT = """async () => {
    await document.fonts.ready
    await new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))
}"""


async def require_accessible(page: Page) -> None:
    """Nothing is wider than the screen, and axe-core has nothing to say, however small."""
    await page.evaluate(_LAID_OUT)
    wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, "the page has to be scrolled sideways"
    await page.add_script_tag(path=_AXE)
    found = await page.evaluate(_VIOLATIONS)
    assert not found, found
