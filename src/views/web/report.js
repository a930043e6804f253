"use strict";

// The page of a run: panels behind tabs, made from the data of page_data.h when they are first shown. What is chosen is in the
// address (#tab=tasks&tasks=...), so that it can be sent.
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const report = data.report;
  const byId = id => document.getElementById(id);
  const number = (value, digits = 0) => value.toLocaleString("en", {maximumFractionDigits: digits});
  const known = (value, text) => value === null || value === undefined || value < 0 ? "not recorded" : text(value);
  const seconds = tick => tick * data.tick_us / 1e6;
  const secondsOf = tick => tick < 0 ? -1 : seconds(tick);
  const durationOf = tick => known(tick, value => duration(seconds(value)));
  const end = Math.max(seconds(data.end), 1e-6);
  const duration = value => timeText(value, value < 0.001 ? 0.0001 : value < 100 ? 0.01 : 1);
  const size = mb => mb >= 1024 ? `${number(mb / 1024, 1)} GiB` : `${number(mb, 0)} MiB`;
  const bytes = value => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let at = 0;
    for (; value >= 1024 && at + 1 < units.length; ++at) value /= 1024;
    return `${number(value, at === 0 ? 0 : 1)} ${units[at]}`;
  };
  const coreTime = value => report.account.offered_core_seconds >= 3600 ? `${number(value / 3600, 2)} core-hours` : `${number(value, 2)} core-seconds`;
  const date = us => us ? new Date(us / 1000).toLocaleString("en", {dateStyle: "medium", timeStyle: "medium"}) : "not recorded";

  const count = data.attempts.count;
  const attempts = columnsOf(data.attempts.columns, count);
  const workerNames = data.workers.names;
  const workers = columnsOf(data.workers.columns, workerNames.length);
  const isGood = data.endings.map(name => name === "succeeded" || name === "running");
  const others = data.workers.others;  // the row of those that have none, or null
  const hosts = [...new Set(data.workers.hosts)];
  const hostOf = data.workers.hosts.map(name => hosts.indexOf(name));
  const isSample = count < data.attempts.of;
  const othersNote = (shown, of, what, option) => shown < of
    ? `${number(of)} ${what}: those with most core time have a row of their own, and one row has the sums of the others; work_queue_report ${option} has them all.`
    : "";
  const sampleNote = isSample
    ? `${number(count)} of ${number(data.attempts.of)} attempts are on this page: failed ones, the longest ones, and every n-th of the others. Figures and tables of categories, hosts and failures are of all.`
    : "";

  // ---- the parts of a page ----

  function tile(parent, name, value, more = "") {
    const box = addElement(parent, "div", "", {className: "tile"});
    addElement(box, "b", value);
    addElement(box, "span", name);
    if (more !== "") addElement(box, "small", more);
  }
  function list(parent, title, texts) {
    if (texts.length === 0) return;
    addElement(parent, "h2", title);
    const all = addElement(parent, "ul");
    for (const text of texts) addElement(all, "li", text);
  }
  const note = (parent, text) => { if (text !== "") addElement(parent, "p", text, {className: "faint"}); };

  // ---- the account ----

  // Of each line: a colour, and a pattern of report.css. Lines of one colour belong together: held by tasks; free, by what workers did;
  // free, without tasks; free, though there were tasks. No two lines look alike, also to those who see no colours.
  const looks = {
    useful: ["#2FB78E", "plain"], waited_for_files: ["#56B4E9", "dots"], idle_in_tasks: ["#E69F00", "rising"], running: ["#8CD9BF", "upright"],
    lost: ["#E8743B", "falling"], files_in: ["#6FA8DC", "rising"], files_out: ["#6FA8DC", "falling"], start_and_report: ["#D99AC0", "level"],
    starting: ["#B0B0B0", "plain"], disconnected: ["#B0B0B0", "rising"], excluded: ["#B0B0B0", "grid"], draining: ["#B0B0B0", "falling"],
    manager: ["#B7ABDE", "plain"], tail: ["#B7ABDE", "rising"], waits_for_tasks: ["#B7ABDE", "dots"], waits_for_limits: ["#B7ABDE", "level"],
    waits_for_program: ["#B7ABDE", "upright"], after_the_end: ["#B7ABDE", "falling"],
    dispatch: ["#EADB6E", "plain"], packing_memory_held: ["#EADB6E", "rising"], packing_memory: ["#EADB6E", "falling"],
    packing_gpus: ["#EADB6E", "dots"], packing_disk: ["#EADB6E", "level"], packing_coprocesses: ["#EADB6E", "upright"], packing_cores: ["#EADB6E", "grid"],
    fits_nowhere: ["#D7A9A0", "plain"], unknown: ["#DADADA", "dots"],
  };
  function paintLine(element, line) {
    const [color, pattern] = looks[line.name];
    element.style.backgroundColor = color;
    element.classList.add(`pattern-${pattern}`);
  }
  function accountBar(parent) {
    const bar = addElement(parent, "div", "", {className: "account"});
    for (const line of report.account.lines) {
      if (line.core_seconds <= 0) continue;
      const text = `${line.title}: ${number(line.percent, 1)} %`;
      const part = addElement(bar, "span", "", {title: `${text}, ${coreTime(line.core_seconds)}: ${line.meaning}`});
      part.style.width = `${line.percent}%`;
      paintLine(part, line);
      if (line.percent >= 9) addElement(part, "span", text).style.backgroundColor = part.style.backgroundColor;
    }
  }
  function accountList(parent) {
    const all = addElement(parent, "ul", "", {className: "legend"});
    for (const line of report.account.lines) {
      if (line.core_seconds <= 0) continue;
      const item = addElement(all, "li");
      paintLine(addElement(item, "span", "", {className: "box"}), line);
      item.append(` ${line.title} ${number(line.percent, 1)} %`);
      addElement(item, "span", ` ${coreTime(line.core_seconds)}`, {className: "faint"});
    }
  }
  function accountPanel(parent) {
    addElement(parent, "p", `${coreTime(report.account.offered_core_seconds)} were offered by the workers of this run. Each core of each moment is in one line; the lines sum to the offer.`);
    accountBar(parent);
    const lines = report.account.lines.filter(line => line.core_seconds > 0);
    const table = addElement(addElement(parent, "div", "", {className: "scroll"}), "table");
    const head = addElement(addElement(table, "thead"), "tr");
    for (const name of ["", "of the offer", "core time", "what it is"]) addElement(head, "th", name, {scope: "col"});
    const body = addElement(table, "tbody");
    for (const line of lines) {
      const row = addElement(body, "tr");
      const name = addElement(row, "td");
      paintLine(addElement(name, "span", "", {className: "box"}), line);
      name.append(` ${line.title}`);
      addElement(row, "td", `${number(line.percent, 2)} %`, {className: "number"});
      addElement(row, "td", coreTime(line.core_seconds), {className: "number"});
      addElement(row, "td", line.meaning);
    }
    const beside = [];
    for (const [ending, value] of Object.entries(report.account.lost_core_seconds_by_ending))
      beside.push(`lost, ${ending.replaceAll("_", " ")}: ${coreTime(value)}`);
    if (report.account.not_offered_core_seconds > 0) beside.push(`allocated to batch jobs, not offered by their workers: ${coreTime(report.account.not_offered_core_seconds)}`);
    if (report.account.above_allocation_core_seconds > 0) beside.push(`processor time above what tasks had: ${coreTime(report.account.above_allocation_core_seconds)}`);
    list(parent, "Beside the sum", beside);
    list(parent, "What to change", report.advice);
  }

  // ---- overview ----

  function curves(names) {
    const series = columnsOf(data.series.columns, data.series.count);
    const x = series.time.map(seconds);
    return names.map(([name, label, scale = 1]) => ({name: label, x, y: series[name].map(value => value * scale)}));
  }
  function overviewPanel(parent) {
    const tiles = addElement(parent, "div", "", {className: "tiles"});
    const tasks = report.tasks;
    tile(tiles, "tasks succeeded", number(tasks.succeeded));
    tile(tiles, "tasks failed", number(tasks.failed), tasks.never_ran > 0 ? `${number(tasks.never_ran)} of them never ran` : "");
    tile(tiles, "tasks left", known(tasks.left, number));
    tile(tiles, "attempts failed", number(report.attempts.failed), `of ${number(report.attempts.ended)}`);
    tile(tiles, report.live ? "until now" : "run time", duration(report.makespan_us / 1e6), report.sessions.length > 1 ? `${report.sessions.length} sessions` : "");
    tile(tiles, "tasks a second", number(report.tasks_per_second, 2));
    tile(tiles, "workers", number(report.workers), `${number(report.most_cores, 1)} cores at most`);
    addElement(parent, "h2", "Where the core time went");
    accountBar(parent);
    accountList(parent);
    list(parent, "What to change", report.advice);
    list(parent, "Slowest attempts", report.slowest.map(one =>
      `${duration(one.wall_seconds)}: task ${one.task}${one.line ? ` (line ${one.line})` : ""} of ${one.category} on ${one.host}${one.command ? `: ${one.command}` : ""}`));
    addCurves(parent, "Tasks over time", "tasks", curves([["waiting", "waiting"], ["running", "running"], ["done", "ended"], ["failed", "failed"]]), end);
    addCurves(parent, "Cores over time", "cores", curves([["total_cores", "of workers"], ["committed_cores", "given to tasks"]]), end);
    const about = addElement(parent, "p", "", {className: "faint"});
    about.textContent = `Begin: ${date(report.begin_us)}. End: ${report.live ? "still running when it was read" : date(report.end_us)}. Manager on ${report.manager_host || "a host that is not recorded"}. Read from ${report.path}.`;
    list(parent, "What this run did not record", report.lacks);
  }

  // ---- the timeline ----

  let timeline;
  let orderName = "lanes";
  let colorName = "category";
  const paints = {
    category: {names: data.categories.map(one => one.name), colors: data.categories.map(one => rgbOf(one.color)), of: i => attempts.category[i]},
    ending: {names: data.endings, colors: data.endings.map((name, at) => rgbOf(isGood[at] ? chartColors[name === "running" ? 5 : 2] : ["#D55E00", "#E69F00", "#CC79A7", "#7F7F7F"][at % 4])), of: i => attempts.ending[i]},
    host: {names: hosts, colors: hosts.map((_, at) => rgbOf(chartColors[at % chartColors.length])), of: i => hostOf[attempts.worker[i]]},
  };
  const ran = i => attempts.no_run_time[i] ? -1 : attempts.lasted[i] - attempts.before[i] - attempts.after[i];
  const right = i => attempts.begin[i] + attempts.lasted[i];
  const mixed = (color, other, part) => color.map((value, i) => value + part * (other[i] - value));
  const underColor = () => rgbOf(getComputedStyle(document.body).getPropertyValue("--idle").trim());
  function layoutOf(rows, rowOf, more) {
    const paint = paints[colorName];
    const light = paint.colors.map(color => mixed(color, [255, 255, 255], 0.55));
    const dark = paint.colors.map(color => mixed(color, [0, 0, 0], 0.45));
    const first = new Int32Array(rows + 1);
    const rowOfBar = Int32Array.from({length: count}, (_, i) => rowOf(i));  // below 0: it has none
    for (const row of rowOfBar) if (row >= 0) ++first[row + 1];
    for (let row = 0; row < rows; ++row) first[row + 1] += first[row];
    const next = first.slice();
    const bars = new Int32Array(first[rows]);
    rowOfBar.forEach((row, i) => { if (row >= 0) bars[next[row]++] = i; });
    return {rows, first, bars, left: i => attempts.begin[i], right, end: data.end, underColor,
      paint: (i, span) => {
        const color = paint.of(i);
        const started = attempts.begin[i] + attempts.before[i];
        const ended = right(i) - attempts.after[i];
        if (attempts.before[i] > 0) span(attempts.begin[i], started, light[color]);
        span(started, ended, paint.colors[color]);
        if (attempts.after[i] > 0) span(ended, right(i), dark[color]);
      },
      ...more};
  }
  const orders = {
    lanes: () => {
      const base = [];
      const workerOf = [];
      const labels = [];
      workerNames.forEach((text, worker) => {
        if (worker === others) return;
        const rows = Math.max(workers.lanes[worker] || 0, 1);
        labels.push({row: workerOf.length, rows, text});
        base[worker] = workerOf.length;
        for (let lane = 0; lane < rows; ++lane) workerOf.push(worker);
      });
      const under = row => [workers.joined[workerOf[row]], workers.left[workerOf[row]]];
      const rowOf = i => attempts.worker[i] === others ? -1 : base[attempts.worker[i]] + attempts.lane[i];
      return layoutOf(workerOf.length, rowOf, {labels, under});
    },
    tasks: () => {
      const byBegin = Array.from({length: count}, (_, i) => i).sort((a, b) => attempts.begin[a] - attempts.begin[b]);
      const row = new Int32Array(count);
      byBegin.forEach((i, at) => { row[i] = at; });
      return layoutOf(Math.max(count, 1), i => row[i], {});
    },
    busy: () => {
      if (!data.busy) {
        const labels = workerNames.map((text, row) => ({row, rows: 1, text}));
        return layoutOf(workerNames.length, i => attempts.worker[i], {labels, under: row => [workers.joined[row], workers.left[row]]});
      }
      const {bins} = data.busy;
      const rows = workerNames.length;
      const share = columnOf(data.busy.share, rows * bins);
      const bars = [];
      const first = new Int32Array(rows + 1);
      for (let row = 0; row < rows; ++row) {
        for (let bin = 0; bin < bins; ++bin) if (share[row * bins + bin] > 0) bars.push(row * bins + bin);
        first[row + 1] = bars.length;
      }
      const width = data.end / bins;
      const left = bar => bar % bins * width;
      const idle = underColor();
      return {rows, first, bars, left, right: bar => left(bar) + width, end: data.end, underColor,
        labels: workerNames.map((text, row) => ({row, rows: 1, text})), under: row => [workers.joined[row], workers.left[row]],
        paint: (bar, span) => span(left(bar), left(bar) + width, mixed(idle, rgbOf("#0072B2"), share[bar] / 1000)), isBusy: true};
    },
  };
  function describe(i) {
    const calls = attempts.calls[i] + 1;
    const rows = [
      [calls > 1 ? "calls" : "task", calls > 1 ? `${number(calls)}, from ${attempts.task[i]}` : String(attempts.task[i])],
      ["attempt", String(attempts.attempt[i])], ["category", paints.category.names[attempts.category[i]]], ["ending", data.endings[attempts.ending[i]]],
      ["worker", workerNames[attempts.worker[i]]], ["waited", durationOf(attempts.waited[i])], ["began", duration(seconds(attempts.begin[i]))],
      ["ran", durationOf(ran(i))], ["processor time", durationOf(attempts.cpu[i])], ["cores", number(attempts.cores[i] / 1000, 2)],
      ["memory", `${known(attempts.memory_peak[i], size)} of ${known(attempts.memory[i], size)}`],
    ];
    if (attempts.line[i] > 0) rows.splice(1, 0, ["line", String(attempts.line[i])]);
    if (attempts.before[i] > 0) rows.push(["until it started", duration(seconds(attempts.before[i]))]);
    if (attempts.after[i] > 0) rows.push(["after its end", duration(seconds(attempts.after[i]))]);
    return rows;
  }
  function timelinePanel(parent) {
    note(parent, sampleNote);
    if (others !== null) note(parent, `${number(data.workers.of)} workers: those with most core time have lanes. What the others ran is in the rows by attempts, and in the sum of their row by workers.`);
    const bar = addElement(parent, "div", "", {className: "bar"});
    const select = (name, options, value, change) => {
      const made = addElement(addElement(bar, "label", name + " "), "select");
      for (const [key, text] of options) addElement(made, "option", text, {value: key, selected: key === value});
      made.addEventListener("change", () => change(made.value));
    };
    select("Rows", [["lanes", "lanes of workers"], ["busy", "workers"], ["tasks", "attempts"]], orderName, value => { orderName = value; show(); });
    select("Colours", [["category", "category"], ["ending", "ending"], ["host", "host"]], colorName, value => { colorName = value; refresh(); });
    const button = (text, label, act) => {
      const made = addElement(bar, "button", text);
      made.setAttribute("aria-label", label);
      made.addEventListener("click", act);
    };
    button("+", "zoom in", () => timeline.zoom(1.5));
    button("\u2212", "zoom out", () => timeline.zoom(1 / 1.5));
    button("Show all", "show all", () => timeline.reset());
    const canvas = addElement(parent, "canvas", "", {className: "timeline", tabIndex: 0});
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "bars of attempts over time");
    const info = addElement(parent, "p", "", {className: "info"});
    info.setAttribute("aria-live", "polite");
    const hint = "Point at a bar to read about it. Wheel, pinch or + and \u2212 zoom, dragging or arrow keys move, 0 shows all, n and p read the next and the previous bar. The light part of a bar is the time until its process started, the dark part the time after its end.";
    info.textContent = hint;
    const legend = addElement(parent, "div", "", {className: "legend"});
    timeline = new Timeline(canvas, data.tick_us / 1e6, chosen => {
      info.textContent = chosen < 0 ? hint : "";
      if (chosen < 0) return;
      if (timeline.layout.isBusy) {
        const {bins} = data.busy;
        info.textContent = `${workerNames[Math.floor(chosen / bins)]}: busy ${number(columnOf(data.busy.share, workerNames.length * bins)[chosen] / 10, 1)} % of this part of the time`;
        return;
      }
      for (const [name, value] of describe(chosen)) addElement(addElement(info, "span", ` ${value}`), "b", name).parentNode.prepend(info.lastChild.lastChild);
    });
    const show = () => {
      legend.textContent = "";
      const paint = paints[colorName];
      const isUsed = new Set();
      for (let i = 0; i < count; ++i) isUsed.add(paint.of(i));
      paint.names.forEach((name, at) => {
        if (!isUsed.has(at) || legend.childElementCount >= 60) return;
        const part = addElement(legend, "span");
        addElement(part, "span", "", {className: "box"}).style.background = `rgb(${paint.colors[at].map(Math.round).join(",")})`;
        part.append(` ${name}`);
      });
      timeline.show(orders[orderName]());
    };
    const refresh = () => {
      const view = {time: timeline.time, top: timeline.top, rowHeight: timeline.rowHeight};
      show();
      Object.assign(timeline, view);
      timeline.fit();
    };
    show();
  }

  // ---- tables ----

  const tables = {};
  function put(name, parent, columns, rows, options = {}) {
    tables[name] = new Table(parent, columns, rows, {...options, onChange: () => writeAddress()});
    if (Object.hasOwn(selections, name)) tables[name].selection = selections[name];
  }
  // A figure that may lack: then it is below 0, and a text says so.
  function figure(name, unit, get, textWithout = () => "not recorded") {
    const of = i => get(i) ?? -1;
    return {name, unit, of, text: i => of(i) < 0 ? textWithout() : of(i)};
  }
  function tasksPanel(parent) {
    note(parent, sampleNote);
    const details = addElement(parent, "p", "", {className: "info"});
    put("tasks", parent, [
      {name: "task", of: i => attempts.task[i]}, {name: "line", of: i => attempts.line[i], text: i => attempts.line[i] || ""},
      {name: "attempt", of: i => attempts.attempt[i]},
      {name: "category", of: i => paints.category.names[attempts.category[i]]}, {name: "ending", of: i => data.endings[attempts.ending[i]]},
      {name: "host", of: i => hosts[hostOf[attempts.worker[i]]]},
      figure("waited", "s", i => secondsOf(attempts.waited[i])), {name: "began", unit: "s", of: i => seconds(attempts.begin[i])},
      {name: "lasted", unit: "s", of: i => seconds(attempts.lasted[i])}, figure("processor", "s", i => secondsOf(attempts.cpu[i])),
      {name: "cores", of: i => attempts.cores[i] / 1000},
      figure("memory used", "MiB", i => attempts.memory_peak[i]),
    ], count, {
      filters: [{name: "Ending", values: data.endings, of: i => attempts.ending[i]}, {name: "Category", values: paints.category.names, of: i => attempts.category[i]},
        {name: "Host", values: hosts, of: i => hostOf[attempts.worker[i]]}],
      onRow: i => { details.textContent = describe(i).map(pair => pair.join(": ")).join(" \u00b7 "); details.scrollIntoView({block: "nearest"}); },
    });
  }
  function workersPanel(parent) {
    addElement(parent, "h2", "Hosts");
    const hostRows = data.host_table.rows;
    note(parent, othersNote(hostRows.length, data.host_table.of, "hosts", "--json"));
    put("hosts", parent, [
      {name: "host", of: i => hostRows[i].name}, {name: "workers", of: i => hostRows[i].workers}, {name: "attempts", of: i => hostRows[i].attempts},
      {name: "failed", of: i => hostRows[i].failed},
      figure("given to tasks", "%", i => hostRows[i].allocated_percent), figure("used", "%", i => hostRows[i].used_percent),
      figure("mean run time", "s", i => hostRows[i].mean_wall_seconds, () => "no success"),
      figure("of other hosts' time", "", i => hostRows[i].wall_of_other_hosts, () => "no other host ran these"),
    ], hostRows.length);
    addElement(parent, "h2", "Workers");
    if (others !== null) note(parent, othersNote(others, data.workers.of, "workers", "--csv"));
    put("workers", parent, [
      {name: "worker", of: i => workerNames[i]}, {name: "host", of: i => data.workers.hosts[i]}, {name: "cores", of: i => workers.cores[i] / 1000},
      {name: "memory", unit: "MiB", of: i => workers.memory[i]}, {name: "joined", unit: "s", of: i => seconds(workers.joined[i])},
      {name: "left", unit: "s", of: i => seconds(workers.left[i]), text: i => workers.is_there[i] ? "still there" : number(seconds(workers.left[i]), 3)},
      {name: "why it left", of: i => data.workers.why_left[i]},
    ], workerNames.length);
  }
  function failuresPanel(parent) {
    if (report.failures.length === 0) addElement(parent, "p", "No attempt failed.");
    for (const group of report.failures) {
      addElement(parent, "h2", `${group.text}: ${number(group.attempts)} ${group.attempts === 1 ? "attempt" : "attempts"}`);
      for (const one of group.examples) {
        addElement(parent, "p", `task ${one.task}${one.line ? ` (line ${one.line})` : ""}, attempt ${one.attempt}, ${one.category} on ${one.host || "a host that is not known"}${one.final ? "" : "; another attempt followed"}`);
        if (one.command) addElement(parent, "pre", `$ ${one.command}${one.stderr_end ? `\n${one.stderr_end}` : ""}`);
        else if (one.stderr_end) addElement(parent, "pre", one.stderr_end);
      }
    }
  }
  function waitingPanel(parent) {
    const {reasons, left} = data.waiting;
    if (data.waiting.count === 0) return addElement(parent, "p", "This run did not record what waited and why.");
    const rows = columnsOf(data.waiting.columns, data.waiting.count);
    const x = [...rows.time.map(seconds), end];
    const curve = name => ({name: name.replaceAll("_", " "), x, y: [...rows[name], rows[name][data.waiting.count - 1]]});
    addCurves(parent, "Tasks that wait, by reason", "tasks", reasons.map(reason => curve(reason.name)), end);
    addElement(parent, "h2", report.live ? "Now" : "At the end");
    if (left.length === 0) return addElement(parent, "p", "Nothing waited.");
    const asked = ask => [ask.cores >= 0 ? `${ask.cores} cores` : "", ask.memory_mib >= 0 ? size(ask.memory_mib) : "", ask.features];
    if (left.length < data.waiting.left_count) note(parent, `The ${number(left.length)} with most tasks of ${number(data.waiting.left_count)}.`);
    put("waiting", parent, [
      {name: "tasks", of: i => left[i].tasks}, {name: "reason", of: i => reasons[left[i].reason].name.replaceAll("_", " ")},
      {name: "meaning", of: i => reasons[left[i].reason].meaning},
      {name: "asks for", of: i => left[i].ask ? asked(left[i].ask).filter(text => text !== "").join(", ") || "nothing special" : "any"},
    ], left.length);
    return undefined;
  }
  function memoryByCategory(measured) {
    const mostSets = 20;  // a legend that can be read
    const sets = data.categories.map(({name, color}) => ({name, color, points: []}));
    for (const i of measured) {
      const {points} = sets[attempts.category[i]];
      if (attempts.memory_peak[i] >= 0 && points.length < 3000) points.push({x: seconds(ran(i)), y: attempts.memory_peak[i]});
    }
    const some = sets.filter(set => set.points.length > 0).sort((a, b) => b.points.length - a.points.length);
    if (some.length <= mostSets) return some;
    const rest = some.slice(mostSets);
    return [...some.slice(0, mostSets), {name: `${number(rest.length)} more categories`, color: "#7F7F7F", points: rest.flatMap(set => set.points)}];
  }
  function resourcesPanel(parent) {
    note(parent, sampleNote);
    const {rows} = data.category_table;
    note(parent, othersNote(rows.length, data.category_table.of, "categories", "--csv"));
    put("resources", parent, [
      {name: "category", of: i => rows[i].name}, {name: "attempts", of: i => rows[i].attempts}, {name: "failed", of: i => rows[i].failed},
      figure("run time, median", "s", i => rows[i].wall_median), figure("95 %", "s", i => rows[i].wall_95), figure("longest", "s", i => rows[i].wall_max),
      figure("cores given", "", i => rows[i].cores_asked), figure("cores busy", "", i => rows[i].cores_used),
      figure("memory given", "MiB", i => rows[i].memory_asked), figure("memory used, median", "MiB", i => rows[i].memory_used),
      figure("most", "MiB", i => rows[i].memory_max),
    ], rows.length);
    const boxes = name => data.boxes.map(row => ({name: row.name, box: row[name]}));
    addBoxes(parent, "Run times by category", "seconds", boxes("wall"));
    addBoxes(parent, "Memory used of the asked, by category", "%", boxes("memory"));
    addBoxes(parent, "Cores busy of the asked, by category", "%", boxes("cores"));
    const measured = Array.from({length: count}, (_, i) => i).filter(i => ran(i) >= 0);
    addHistogram(parent, "Run times of attempts", "", measured.map(i => seconds(ran(i))), duration);
    addPoints(parent, "Memory used by run time", "seconds", "MiB", memoryByCategory(measured));
  }
  function filesPanel(parent) {
    const {rows} = data.files;
    addCurves(parent, "Bytes between manager and workers", "MiB", curves([["bytes_sent", "sent", 1 / 1048576], ["bytes_received", "received", 1 / 1048576]]), end);
    if (rows.length === 0) return addElement(parent, "p", "No file was transferred.");
    if (rows.length < data.files.count) note(parent, `The ${number(rows.length)} with most bytes of ${number(data.files.count)}.`);
    put("files", parent, [
      {name: "file", of: i => rows[i].name}, {name: "direction", of: i => rows[i].direction}, {name: "transfers", of: i => rows[i].transfers},
      {name: "size", of: i => rows[i].bytes, text: i => bytes(rows[i].bytes)}, {name: "time", unit: "s", of: i => rows[i].seconds},
    ], rows.length);
    return undefined;
  }

  // ---- tabs and the address ----

  const panels = {
    overview: ["Overview", overviewPanel], timeline: ["Timeline", timelinePanel], workers: ["Workers", workersPanel], tasks: ["Tasks", tasksPanel],
    failures: ["Failures", failuresPanel], waiting: ["Waiting", waitingPanel], resources: ["Resources", resourcesPanel], files: ["Files", filesPanel],
    account: ["Account", accountPanel],
  };
  const selections = Object.fromEntries(location.hash.slice(1).split("&").map(part => part.split("=", 2)).filter(pair => pair.length === 2));
  const made = {};
  let shown = "";
  function writeAddress() {
    const parts = [`tab=${shown}`, ...Object.entries(tables).map(([name, table]) => `${name}=${table.selection}`)];
    history.replaceState(null, "", `#${parts.join("&")}`);
  }
  function choose(name) {
    shown = name;
    for (const tab of document.querySelectorAll("[role=tab]")) {
      tab.setAttribute("aria-selected", String(tab.dataset.panel === name));
      tab.tabIndex = tab.dataset.panel === name ? 0 : -1;
    }
    for (const panel of document.querySelectorAll("[role=tabpanel]")) panel.hidden = panel.id !== name;
    if (!made[name]) {
      made[name] = true;
      panels[name][1](byId(name));
    }
    writeAddress();
  }
  const tabs = byId("tabs");
  const main = byId("panels");
  for (const [name, [title]] of Object.entries(panels)) {
    const tab = addElement(tabs, "button", title, {id: `tab-${name}`});
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", name);
    tab.dataset.panel = name;
    tab.addEventListener("click", () => choose(name));
    const panel = addElement(main, "section", "", {id: name, hidden: true});
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
  }
  tabs.addEventListener("keydown", event => {
    const names = Object.keys(panels);
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!by) return;
    choose(names[(names.indexOf(shown) + by + names.length) % names.length]);
    byId(`tab-${shown}`).focus();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of charts) paintChart(chart);
    if (timeline) timeline.draw();
  });
  choose(Object.hasOwn(panels, selections.tab) ? selections.tab : "overview");
}
