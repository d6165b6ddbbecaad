"""Checks a site in headless Chromium: filters, keys, links, the console, narrow screens, dark mode.

    python3 tests/site/browser.py SITE_FOLDER [SCREENSHOT_FOLDER]

Needs Chromium, its driver and Selenium (Debian: chromium chromium-driver python3-selenium).
"""

import pathlib
import sys
import tempfile
import urllib.parse

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait


def browser(profile):
    options = webdriver.ChromeOptions()
    for flag in ["headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-dev-shm-usage", "disable-background-networking",
                 "disable-component-update", "disable-sync", "hide-scrollbars", f"user-data-dir={profile}"]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options)


def resize(driver, width, height):
    """Sets the size of the viewport, which has no minimum width, unlike a window."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def scheme(driver, name):
    feature = {"name": "prefers-color-scheme", "value": name}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def count(driver):
    shown = int(driver.find_element(By.ID, "count").text)
    visible = driver.execute_script("return document.querySelectorAll('.findings > li:not([hidden])').length")
    assert shown == visible, f"says {shown}, shows {visible}"
    return shown


def choose(driver, name, index):
    field = driver.find_element(By.NAME, name)
    Select(field).select_by_index(index)
    # The driver changes the field without the `input` event of a user's choice.
    driver.execute_script("arguments[0].dispatchEvent(new Event('input', { bubbles: true }))", field)


def load(driver, address):
    """Loads a page, even if only the part after `#` differs from the current page, and waits for its style: the driver may return first."""
    driver.get("about:blank")
    driver.get(address)
    WebDriverWait(driver, 30).until(lambda _: driver.execute_script(STYLED), f"{address} has no style")


STYLED = """
return document.readyState === "complete" && [...document.querySelectorAll("link[rel=stylesheet]")].every((link) => link.sheet)
"""


def check_filters(driver, index):
    load(driver, index)
    everything = count(driver)
    assert everything > 0, "a site without findings has no filters to try"
    for name in ["family", "op", "rank", "status", "kind", "oracle", "device", "dtype"]:
        load(driver, index)
        select = Select(driver.find_element(By.NAME, name))
        expected = int(select.options[1].text.rsplit("(", 1)[1].rstrip(")"))
        choose(driver, name, 1)
        assert count(driver) == expected, f"{name}: {count(driver)}, not {expected}"
    # Two filters at once, stored in the URL and restored from it.
    choose(driver, "kind", 1)
    both, address = count(driver), driver.current_url
    load(driver, address)
    assert count(driver) == both, "the URL does not restore the filters"
    driver.find_element(By.CSS_SELECTOR, "button[type=reset]").click()
    driver.execute_async_script("setTimeout(arguments[0], 50)")
    assert count(driver) == everything, "a reset does not show all findings"
    return everything


def check_keys(driver, index):
    load(driver, index)
    body = driver.find_element(By.TAG_NAME, "body")
    body.send_keys("/")
    focused = driver.switch_to.active_element
    assert focused.get_attribute("name") == "text", "/ does not focus the search"
    focused.send_keys("no such words at all")
    assert count(driver) == 0
    focused.clear()
    focused.send_keys(Keys.BACKSPACE)
    first = driver.find_element(By.CSS_SELECTOR, ".matrix tbody a")
    driver.execute_script("arguments[0].focus()", first)
    seen = set()
    for key in [Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_LEFT, Keys.ARROW_UP]:
        driver.switch_to.active_element.send_keys(key)
        seen.add(driver.switch_to.active_element.get_attribute("href"))
    assert len(seen) > 2, f"arrow keys do not move: {seen}"
    tabbable = driver.execute_script("return document.querySelectorAll('.matrix tbody a[tabindex=\"0\"]').length")
    assert tabbable == 1, f"{tabbable} links of the matrix are in the tab order"


def check_cell(driver, index):
    load(driver, index)
    cell = driver.find_element(By.CSS_SELECTOR, ".matrix td a")
    expected = int(cell.get_attribute("title").rsplit("(", 1)[1].rstrip(")"))
    driver.execute_script("arguments[0].click()", cell)
    driver.execute_async_script("setTimeout(arguments[0], 50)")
    assert count(driver) == expected, f"the cell has {expected}, the list {count(driver)}"


def check_links(root):
    """Checks that every linked file exists; the test suite checks anchors."""
    checked = 0
    for page in root.rglob("*.html"):
        text = page.read_text(encoding="utf-8").replace("&#x2f;", "/").replace("&amp;", "&")
        for part in text.split(' href="')[1:]:
            link = urllib.parse.unquote(part.split('"')[0].split("#")[0])
            if link and not link.startswith(("https:", "data:")):
                assert (page.parent / link).exists(), f"{page}: {link}"
                checked += 1
    return checked


def check_search(driver, pages):
    """Finds a section of the guide and a scenario from each page with a search, and goes to a hit."""
    for page in pages:
        load(driver, page)
        driver.find_element(By.TAG_NAME, "body").send_keys("/")
        field = driver.switch_to.active_element
        assert field.get_attribute("type") == "search", f"{page}: / does not focus the search"
        field.send_keys("label ASSERT")
        hits = driver.find_elements(By.CSS_SELECTOR, "#hits li")
        kinds = {hit.find_element(By.TAG_NAME, "small").text for hit in hits}
        assert {"Guide", "Scenarios"} <= kinds, f"{page}: finds {kinds}"
        told = driver.find_element(By.CSS_SELECTOR, "#search [role=status]").text
        assert int(told.split()[0]) >= len(hits) > 2, f"{page}: says {told}"
        link = hits[-1].find_element(By.TAG_NAME, "a")
        target = link.get_attribute("href")
        driver.execute_script("arguments[0].click()", link)
        assert driver.current_url == target, f"{page}: a hit leads to {driver.current_url}, not {target}"
        load(driver, page)
        driver.find_element(By.CSS_SELECTOR, "#search input").send_keys("no such words at all")
        assert not driver.find_elements(By.CSS_SELECTOR, "#hits li"), f"{page}: finds what is not there"


def check_layout(driver, pages):
    for width in [320, 360, 390, 768, 1280, 1400]:
        resize(driver, width, 800)
        for page in pages:
            load(driver, page)
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, f"{page} is {wide} wide on a screen of {width}"
            cut = driver.execute_script(CUT)
            assert not cut, f"{page} cuts labels of its axes on a screen of {width}: {cut}"


def check_colours(driver, index):
    backs = []
    for name in ["light", "dark"]:
        scheme(driver, name)
        load(driver, index)
        backs.append(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
        low = driver.execute_script(CONTRAST)
        assert not low, f"{name}: contrast below 4.5: {low}"
    assert backs[0] != backs[1], "dark mode looks like light mode"


# The labels of plots that are not wholly inside of their plot.
CUT = """
return [...document.querySelectorAll("svg text")].filter((label) => {
  const [own, plot] = [label.getBoundingClientRect(), label.ownerSVGElement.getBoundingClientRect()];
  return own.left < plot.left || own.right > plot.right || own.top < plot.top || own.bottom > plot.bottom;
}).map((label) => label.textContent);
"""

# The contrast of text in marks and of plain text, by WCAG's formula.
CONTRAST = """
const luminance = (colour) => {
  const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const body = getComputedStyle(document.body).backgroundColor;
const low = [];
for (const element of document.querySelectorAll(".legend .mark, body, small, main a, .findings p")) {
  const style = getComputedStyle(element);
  const clear = style.backgroundColor === "rgba(0, 0, 0, 0)";
  const inside = element.closest(".memory, .wrong, .crash, .refusal, .limit, .clean, .untried, .unlisted");
  const back = clear ? (inside ? getComputedStyle(inside).backgroundColor : body) : style.backgroundColor;
  const [a, b] = [luminance(style.color), luminance(back)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) low.push(element.className + " " + element.textContent.slice(0, 20) + " " + ratio.toFixed(2));
}
return low.slice(0, 5);
"""


def take_screenshots(driver, pages, folder):
    for screen, width, height in [("desktop", 1400, 1000), ("phone", 390, 844)]:
        for name in ["light", "dark"]:
            resize(driver, width, height)
            scheme(driver, name)
            for page in pages:
                load(driver, page)
                address = urllib.parse.urlparse(page)
                stem = pathlib.Path(address.path).stem[:40] + ("-list" if address.fragment else "")
                driver.save_screenshot(str(folder / f"{stem}-{screen}-{name}.png"))


def check(root):
    """Runs all checks in a new browser and returns a summary."""
    index = (root / "index.html").as_uri()
    samples = [next(iter(sorted(root.glob(f"{folder}/*.html"))), None) for folder in ["finding", "coverage"]]
    pages = [index] + [(root / name).as_uri() for name in ["causes.html", "coverage.html", "trends.html", "guide.html", "claims.html", "scenarios.html"]]
    pages += [sample.as_uri() for sample in samples if sample]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = browser(profile)
        try:
            resize(driver, 1400, 1000)
            findings = check_filters(driver, index)
            check_keys(driver, index)
            check_cell(driver, index)
            check_search(driver, [(root / name).as_uri() for name in ["guide.html", "claims.html", "scenarios.html"]])
            links = check_links(root)
            check_layout(driver, pages)
            check_colours(driver, index)
            errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
            assert not errors, f"the console has errors: {errors}"
            if len(sys.argv) > 2:
                folder = pathlib.Path(sys.argv[2])
                folder.mkdir(parents=True, exist_ok=True)
                take_screenshots(driver, [*pages, index + "#device=cpu"], folder)
        finally:
            driver.quit()
    return f"{findings} findings, {links} links, {len(pages)} pages checked: all well"


def main():
    attempts = 3
    for attempt in range(1, attempts + 1):
        try:
            print(check(pathlib.Path(sys.argv[1]).resolve()))
            return
        except WebDriverException as trouble:
            # A wrong page raises an assertion; this is a problem of the browser or its driver, or a missing element.
            if attempt == attempts:
                raise
            print(f"trying again after an error of the driver: {trouble.msg}")


if __name__ == "__main__":
    main()
