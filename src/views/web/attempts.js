"use strict";

// The page of work_queue_graph_workers: the data behind the page's <script id="data">, as orders of a Timeline.
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = id => document.getElementById(id);

  const count = data.attempts.count;
  const workers = columnsOf(data.workers.columns, data.workers.names.length);
  const attempts = columnsOf(data.attempts.columns, count);
  attempts.started = attempts.input.map((tick, i) => tick + attempts.sending[i]);
  attempts.output = attempts.started.map((tick, i) => tick + attempts.ran[i]);
  attempts.ended = attempts.output.map((tick, i) => tick + attempts.receiving[i]);

  const hidden = new Set();  // categories
  const onlyBad = document.getElementById("only-bad");
  const isShown = i => !hidden.has(attempts.category[i]) && !(onlyBad && onlyBad.checked && attempts.outcome[i] === data.good);
  const mixed = (color, other, part) => color.map((value, i) => value + part * (other[i] - value));
  const colors = data.categories.map(category => rgbOf(category.color));
  const light = colors.map(color => mixed(color, [255, 255, 255], 0.55));
  const dark = colors.map(color => mixed(color, [0, 0, 0], 0.45));
  const working = rgbOf(data.working);
  const underColor = () => rgbOf(getComputedStyle(document.body).getPropertyValue("--idle").trim());

  // A layout for Timeline.show(), whose attempts are in the rows that `row` has for each of them.
  function layout(rows, row, paint, more) {
    const first = new Int32Array(rows + 1);
    let shown = 0;
    for (let i = 0; i < count; ++i)
      if (isShown(i)) {
        ++first[row(i) + 1];
        ++shown;
      }
    for (let r = 0; r < rows; ++r) first[r + 1] += first[r];
    const next = first.slice();
    const bars = new Int32Array(shown);
    for (let i = 0; i < count; ++i) if (isShown(i)) bars[next[row(i)]++] = i;
    return {rows, first, bars, left: i => attempts.input[i], right: i => attempts.ended[i], paint, end: data.end, ...more};
  }

  const orders = {
    g: () => layout(count, i => i, (i, span) => span(attempts.input[i], attempts.ended[i], colors[attempts.category[i]])),
    t: () => {
      const base = [];
      const workerOf = [];
      const labels = [];
      data.workers.names.forEach((text, worker) => {
        const rows = Math.max(workers.slots[worker], 1);
        labels.push({row: workerOf.length, rows, text});
        base.push(workerOf.length);
        for (let slot = 0; slot < rows; ++slot) workerOf.push(worker);
      });
      const paint = (i, span) => {
        const category = attempts.category[i];
        if (attempts.sending[i] > 0) span(attempts.input[i], attempts.started[i], light[category]);
        span(attempts.started[i], attempts.output[i], colors[category]);
        if (attempts.receiving[i] > 0) span(attempts.output[i], attempts.ended[i], dark[category]);
      };
      const under = row => [workers.joined[workerOf[row]], workers.left[workerOf[row]]];
      return layout(workerOf.length, i => base[attempts.worker[i]] + attempts.slot[i], paint, {labels, under, underColor});
    },
    w: () => {
      const paint = (i, span) => span(attempts.input[i], attempts.ended[i], working);
      const labels = data.workers.names.map((text, row) => ({row, rows: 1, text}));
      const under = row => [workers.joined[row], workers.left[row]];
      return layout(labels.length, i => attempts.worker[i], paint, {labels, under, underColor});
    },
  };

  const seconds = tick => tick * data.tick / 1e6;
  const exact = tick => timeText(seconds(tick), seconds(tick) < 0.001 ? 0.0001 : 0.01);
  function described(i) {
    if (i < 0) return [];
    const calls = attempts.calls[i] + 1;
    const rows = [
      [calls > 1 ? "calls" : "task", calls > 1 ? `${calls.toLocaleString("en")}, from ${attempts.task[i]}` : attempts.task[i]],
      ["category", data.categories[attempts.category[i]].name],
      ["outcome", data.outcomes[attempts.outcome[i]]],
      ["worker", data.workers.names[attempts.worker[i]]],
      ["waited", exact(attempts.waited[i])],
      ["started", exact(attempts.started[i])],
      ["ran", exact(attempts.ran[i])],
      ["ended", exact(attempts.ended[i])],
    ];
    if (attempts.sending[i] > 0) rows.push(["input", exact(attempts.sending[i])]);
    if (attempts.receiving[i] > 0) rows.push(["output", exact(attempts.receiving[i])]);
    return rows;
  }

  const info = byId("info");
  const hint = info.textContent;
  const timeline = new Timeline(byId("timeline"), data.tick / 1e6, bar => {
    info.textContent = bar < 0 ? hint : "";
    for (const [name, value] of described(bar)) {
      const pair = addElement(info, "span");
      addElement(pair, "b", name);
      pair.append(` ${value}`);
    }
  });

  let order = data.order;
  const choose = name => {
    order = name;
    for (const button of document.querySelectorAll("[data-order]")) button.setAttribute("aria-pressed", button.dataset.order === order);
    document.body.dataset.shown = order;
    timeline.show(orders[order]());
  };
  for (const button of document.querySelectorAll("[data-order]")) button.addEventListener("click", () => choose(button.dataset.order));
  byId("in").addEventListener("click", () => timeline.zoom(1.5));
  byId("out").addEventListener("click", () => timeline.zoom(1 / 1.5));
  byId("all").addEventListener("click", () => timeline.reset());
  const refresh = () => {
    const view = {time: timeline.time, top: timeline.top, rowHeight: timeline.rowHeight};
    timeline.show(orders[order]());
    Object.assign(timeline, view);
    timeline.fit();
  };
  document.querySelectorAll("#legend input").forEach((box, category) => box.addEventListener("change", () => {
    if (box.checked) hidden.delete(category); else hidden.add(category);
    refresh();
  }));
  if (onlyBad) onlyBad.addEventListener("change", refresh);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timeline.draw());
  choose(order);
}
