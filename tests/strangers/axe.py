"""axe-core, a checker of accessibility, in the page that a test is at."""

from __future__ import annotations

from playwright.async_api import Page
from tests.strangers.programs import PACKAGES

_AXE = PACKAGES / "axe-core" / "axe.min.js"
_VIOLATIONS = """async () => {
    const found = await axe.run({resultTypes: ["violations"]})  // what is well takes most of the time to tell
    return found.violations.map(one => [one.id, ...one.nodes.map(node => node.html)])
}"""


async def require_accessible(page: Page) -> None:
    """Nothing is wider than the screen, and axe-core has nothing to say, however small."""
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    await page.wait_for_function(
        fits, timeout=5000
    )  # once it is laid out; otherwise it has to be scrolled sideways
    await page.add_script_tag(path=_AXE)
    found = await page.evaluate(_VIOLATIONS)
    assert not found, found
