"use strict";

// Curves, points and bars by Chart.js, in the colours of the page.
const chartColors = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#7F7F7F"];
const charts = new Set();

function addChart(parent, title, config) {
  const box = addElement(parent, "figure");
  addElement(box, "figcaption", title);
  if (typeof Chart === "undefined") {
    addElement(box, "p", "This program was built without Chart.js, which draws the curves.", {className: "faint"});
    return;
  }
  const canvas = addElement(addElement(box, "div", "", {className: "chart"}), "canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", title);
  const chart = new Chart(canvas, config);
  charts.add(chart);
  paintChart(chart);
}

function paintChart(chart) {
  const style = getComputedStyle(document.body);
  const ink = style.color;
  const line = style.getPropertyValue("--line").trim();
  chart.options.color = ink;
  for (const scale of Object.values(chart.options.scales || {})) {
    scale.ticks = {...scale.ticks, color: ink};
    scale.grid = {...scale.grid, color: line};
    if (scale.title) scale.title.color = ink;
  }
  chart.update("none");
}

const axis = (text, more = {}) => ({title: {display: text !== "", text}, ...more});

// curves: {name, x, y}, all with numbers in seconds on the x axis.
function addCurves(parent, title, unit, curves, end) {
  const shown = curves.filter(curve => curve.y.some(value => value !== 0));
  if (shown.length === 0) return;
  const time = {callback: value => timeText(value, Math.max(end / 100, 0.001))};
  addChart(parent, title, {
    type: "line",
    data: {datasets: shown.map((curve, at) => ({
      label: curve.name, data: Array.from(curve.x, (x, i) => ({x, y: curve.y[i]})), borderColor: chartColors[at % chartColors.length],
      backgroundColor: chartColors[at % chartColors.length], borderWidth: 1.5, pointRadius: 0, stepped: "before"}))},
    options: {animation: false, maintainAspectRatio: false, interaction: {mode: "index", intersect: false}, parsing: false,
      scales: {x: axis("", {type: "linear", min: 0, max: end, ticks: time}), y: axis(unit, {beginAtZero: true, ticks: unit === "MiB" ? {} : {precision: 0}})}},
  });
}

// sets: {name, color, points: [{x, y}]}.
function addPoints(parent, title, xUnit, yUnit, sets) {
  const shown = sets.filter(set => set.points.length > 0);
  if (shown.length === 0) return;
  addChart(parent, title, {
    type: "scatter",
    data: {datasets: shown.map(set => ({label: set.name, data: set.points, backgroundColor: set.color, pointRadius: 2}))},
    options: {animation: false, maintainAspectRatio: false, parsing: false,
      scales: {x: axis(xUnit, {type: "linear", beginAtZero: true}), y: axis(yUnit, {beginAtZero: true})}},
  });
}

// A box for each row of {name, box: [least, quartile, median, quartile, most]}: all, the middle half, and the median.
function addBoxes(parent, title, unit, rows) {
  const shown = rows.filter(row => row.box);
  if (shown.length === 0) return;
  const bar = (label, values, width, color) => ({type: "bar", label, data: values, backgroundColor: color, grouped: false, barPercentage: width});
  addChart(parent, title, {
    data: {labels: shown.map(row => row.name.length > 24 ? `${row.name.slice(0, 23)}\u2026` : row.name), datasets: [
      {type: "line", label: "median", data: shown.map(row => row.box[2]), showLine: false, pointStyle: "rectRot", pointRadius: 5,
        backgroundColor: chartColors[3], borderColor: chartColors[3]},
      bar("middle half", shown.map(row => [row.box[1], row.box[3]]), 0.6, chartColors[5]),
      bar("all", shown.map(row => [row.box[0], row.box[4]]), 0.08, chartColors[6]),
    ]},
    options: {animation: false, maintainAspectRatio: false, scales: {x: axis(""), y: axis(unit, {beginAtZero: true})}},
  });
}

// How often values occur, in parts that grow evenly on a logarithmic scale.
function addHistogram(parent, title, unit, values, textOf) {
  const positive = values.filter(value => value > 0);
  if (positive.length === 0) return;
  const low = Math.log10(positive.reduce((a, b) => Math.min(a, b)));
  const high = Math.log10(positive.reduce((a, b) => Math.max(a, b)));
  const parts = high - low < 1e-9 ? 1 : 40;
  const counts = new Array(parts).fill(0);
  for (const value of positive) counts[Math.min(Math.floor((Math.log10(value) - low) / (high - low || 1) * parts), parts - 1)] += 1;
  const edge = part => 10 ** (low + part * (high - low) / parts);
  addChart(parent, title, {
    type: "bar",
    data: {labels: counts.map((_, part) => textOf(edge(part))), datasets: [{label: "attempts", data: counts, backgroundColor: chartColors[0], categoryPercentage: 1, barPercentage: 0.95}]},
    options: {animation: false, maintainAspectRatio: false, plugins: {legend: {display: false}},
      scales: {x: axis(unit), y: axis("attempts", {beginAtZero: true, ticks: {precision: 0}})}},
  });
}
