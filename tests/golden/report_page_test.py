"""Usage: report_page_test.py WORK_QUEUE_RUN WORK_QUEUE_REPORT: what a reader of a report sees, in a headless Chromium.

The numbers of the page are those of the run's joblog; every tab has something to read; nothing of a run is more than text; the
page asks nobody for anything. WQ_PICTURES=DIR keeps pictures of the tabs, in both themes and at two widths.
"""
import base64
import csv
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError:
    debian_python = "/usr/bin/python3"  # which has Debian's python3-selenium
    if os.path.exists(debian_python) and os.environ.get("WQ_DEBIAN_PYTHON") is None:
        os.environ["WQ_DEBIAN_PYTHON"] = "tried"
        os.execv(debian_python, [debian_python, "-B", *sys.argv])
    webdriver = None

TABS = ["overview", "timeline", "workers", "tasks", "failures", "waiting", "resources", "files", "account"]
HOSTILE = "</script><img src=x onerror='window.wasRun=1'>"


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def browser(folder, dark=False):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile"]:
        options.add_argument(word)
    if dark:
        options.add_argument("--force-dark-mode")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(shutil.which("chromedriver"))
    return webdriver.Chrome(service=service, options=options)


def run_a_list(folder, run, name):
    lines = [f"sleep 0.0{n % 10}" for n in range(40)]
    lines += [f"echo 'some reason {HOSTILE}' >&2; exit 3" for _ in range(4)]
    (folder / name).write_text("\n".join(lines) + "\n")
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run([run, "--plots", "never", name], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    with open(folder / f"{name}.wq" / "joblog.tsv", newline="") as joblog:
        return list(csv.DictReader(joblog, delimiter="\t"))


def check_hashes(page):
    """The page allows its own scripts and style, by their hashes, and no others."""
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert {rules[name] for name in ["default-src", "base-uri", "form-action"]} == {"'none'"}, policy

    def sources(tag):
        texts = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        return {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts}
    assert set(rules["script-src"].split()) == sources("script"), policy
    assert set(rules["style-src"].split()) == sources("style"), policy


def tiles(page):
    found = page.find_elements(By.CSS_SELECTOR, "#overview .tile")
    return {one.find_element(By.TAG_NAME, "span").text: one.find_element(By.TAG_NAME, "b").text for one in found}


def check_overview(page, joblog):
    failed = sum(row["Exitval"] != "0" for row in joblog)
    shown = tiles(page)
    assert shown["tasks succeeded"] == str(len(joblog) - failed), shown
    assert shown["tasks failed"] == str(failed), shown
    lines = page.find_elements(By.CSS_SELECTOR, "#overview ul.legend li")
    assert lines and all(re.search(r"[a-z] [\d.]+ % [\d.]+ core", line.text) for line in lines), [line.text for line in lines]


def check_looks(page):
    """Every line of an account has its own colour and pattern."""
    lines = json.loads(re.search(r'id="data">\n(.*?)\n</script>', page, re.DOTALL).group(1))["report"]["account"]["lines"]
    looks = [re.search(rf'\b{line["name"]}: (\["#\w+", "\w+"\])', page) for line in lines]
    assert len(lines) > 20 and all(looks), [line["name"] for line, look in zip(lines, looks) if not look]
    assert len({look.group(1) for look in looks}) == len(looks), [look.group(1) for look in looks]


def check_account(page):
    """No two lines look alike."""
    looks = page.execute_script("""
        return [...document.querySelectorAll("#account td .box")].map(box => {
          const style = getComputedStyle(box);
          return [style.backgroundColor, style.backgroundImage].join(" ");
        });""")
    assert looks and len(set(looks)) == len(looks), looks


def check_addresses(page, address):
    """An address that anyone may have written shows a panel, and no error."""
    for part in ["#tab=constructor", "#tab=__proto__", "#tab=tasks&tasks=%&resources=1", "#tab=tasks&tasks=%25,0,0,0,99,1", "#%"]:
        page.get("about:blank")
        page.get(address + part)
        shown = [panel.get_attribute("id") for panel in page.find_elements(By.CSS_SELECTOR, "[role=tabpanel]") if panel.is_displayed()]
        assert shown == ["tasks" if "tab=tasks" in part else "overview"], f"{part} shows {shown}"
        check_quiet(page)


def check_tabs(page, joblog, pictures, name):
    for tab in TABS:
        page.find_element(By.ID, f"tab-{tab}").click()
        panel = page.find_element(By.ID, tab)
        assert panel.is_displayed() and len(panel.text) > 10, f"{tab} is empty"
        width = page.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
        assert width <= 0, f"{tab} is {width} pixels wider than the window"
        if pictures:
            page.save_screenshot(f"{pictures}/{name}-{tab}.png")
    page.find_element(By.ID, "tab-tasks").click()
    rows = page.find_elements(By.CSS_SELECTOR, "#tasks tbody tr")
    assert len(rows) == len(joblog), f"{len(rows)} rows of {len(joblog)}"
    search = page.find_element(By.CSS_SELECTOR, "#tasks input[type=search]")
    search.send_keys("exit 3")
    assert len(page.find_elements(By.CSS_SELECTOR, "#tasks tbody tr")) == 4
    assert "tasks=exit" in page.current_url, "what is chosen is in the address"
    assert "some reason" in page.execute_script("return document.getElementById('failures').textContent")


def check_quiet(page):
    wrong = [entry for entry in page.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert not wrong, wrong
    asked = page.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert not asked, f"the page asked for {asked}"
    assert page.execute_script("return window.wasRun === undefined")


def main():
    run, report = map(os.path.abspath, sys.argv[1:3])
    pictures = os.environ.get("WQ_PICTURES")
    with tempfile.TemporaryDirectory(prefix="wq-report.") as name:
        folder = pathlib.Path(name)
        hostile = f"{HOSTILE.replace('/', '_')}.sh"
        joblog = run_a_list(folder, run, "tasks.sh")
        run_a_list(folder, run, hostile)
        subprocess.run([report, "tasks.sh.wq"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([report, "-o", "hostile.html", f"{hostile}.wq"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        written = (folder / "tasks.sh.wq" / "report.html").read_text()
        check_hashes(written)
        check_looks(written)
        if webdriver is None or not shutil.which("chromium") or not shutil.which("chromedriver"):
            skip("no chromium, chromium-driver or python3-selenium (scripts/packages: views)")
        for dark in [False, True]:
            page = browser(folder, dark)
            try:
                for width in [1280, 390]:
                    page.set_window_size(width, 900)
                    page.get(f"file://{folder}/tasks.sh.wq/report.html")
                    page.refresh()
                    check_overview(page, joblog)
                    check_tabs(page, joblog, pictures, f"{'dark' if dark else 'light'}-{width}")
                    check_account(page)
                    check_quiet(page)
                check_addresses(page, f"file://{folder}/tasks.sh.wq/report.html")
                page.get(f"file://{folder}/hostile.html")
                for tab in TABS:
                    page.find_element(By.ID, f"tab-{tab}").click()
                assert "<img" in page.find_element(By.TAG_NAME, "h1").text, "the name is shown as it is"
                check_quiet(page)
            finally:
                page.quit()
    print("passed")


if __name__ == "__main__":
    main()
