"""The page on mathematics and the modules that compute what it says point at each other."""

import re
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/math.md").read_text(encoding="utf-8")
LINK = re.compile(r"docs/math\.md#([\w-]+)")
PACKAGES = "data|exact|graphs|mcmc|models|parts|posterior|scores|search|tables"


def anchors() -> set[str]:
    """What the site makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", PAGE, re.M)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in headings}


def test_links_lead_to_headings() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    links = {link for source in sources for link in LINK.findall(source)}
    assert len(links) > 5
    assert links <= anchors()
    assert not [source for source in sources if re.search(r"MATH|\bissue \d", source)]


def test_modules_that_the_page_names_exist() -> None:
    named = set(re.findall(rf"`((?:{PACKAGES})\.[a-z_.]+)", PAGE))
    assert len(named) > 20
    missing = [name for name in named if not _exists(f"outpoint.{name.rstrip('.')}")]
    assert not missing


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
