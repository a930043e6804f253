"use strict";
const table = document.getElementById("records"), filter = document.getElementById("filter");
const heads = [...table.tHead.rows[0].cells];
let column = Number(sessionStorage.column ?? 0), down = sessionStorage.down === "true";

const valueOf = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
function compare(a, b) {
  const [x, y] = [valueOf(a), valueOf(b)], order = x - y;
  const by = Number.isNaN(order) || x === "" || y === "" ? x.localeCompare(y, undefined, {numeric: true}) : order;
  return down ? -by : by;
}
function show() {
  const body = table.tBodies[0], wanted = filter.value.toLowerCase();
  heads.forEach((head, at) => head.ariaSort = at === column ? (down ? "descending" : "ascending") : "none");
  body.append(...[...body.rows].sort(compare));
  const sums = {records: 0, waiting: 0, running: 0, complete: 0, workers: 0};
  for (const row of body.rows) {
    row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
    if (row.hidden) continue;
    sums.records++;
    for (const [key, at] of [["waiting", 5], ["running", 6], ["complete", 7], ["workers", 9]])
      sums[key] += Number(row.cells[at].dataset.value ?? 0);
  }
  document.getElementById("sums").replaceChildren(...Object.entries(sums).map(([key, sum]) => {
    const item = document.createElement("li"), number = document.createElement("b");
    number.textContent = sum.toLocaleString();
    item.append(number, key);
    return item;
  }));
}
heads.forEach((head, at) => {
  const button = document.createElement("button");
  button.textContent = head.textContent;
  button.onclick = () => {
    down = at === column ? !down : head.classList.contains("n");
    column = at;
    sessionStorage.column = column;
    sessionStorage.down = down;
    show();
  };
  head.replaceChildren(button);
});
const state = document.getElementById("state");
async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.pathname, {signal: AbortSignal.timeout(20000)});
    if (!answer.ok) throw answer.status;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    table.tBodies[0].replaceWith(fresh.getElementById("records").tBodies[0]);
    state.textContent = "as of " + new Date().toLocaleTimeString();
  } catch {
    state.textContent = "the server does not answer; this is as old as it says";
  }
  show();
}
filter.hidden = false;
filter.oninput = show;
document.onvisibilitychange = refresh;
setInterval(refresh, 15000);
show();
