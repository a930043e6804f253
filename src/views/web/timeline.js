"use strict";

// A canvas of bars in rows over time, with zoom and pan. What is smaller than a pixel is drawn as density.
//
// show() takes a layout: rows (count), first (of row r the bars are bars[first[r]] to bars[first[r + 1] - 1]), bars (numbers of
// bars by row, in each by time), left(bar) and right(bar) in ticks, paint(bar, span), under(row) (undefined, or the
// [left, right] behind its bars, in the color underColor()), labels ({row, rows, text}; undefined: rows are numbered) and end (ticks).
// paint() calls span(left, right, color) for each part; a color is [red, green, blue].
class Timeline {
  constructor(canvas, secondsPerTick, onSelect) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.secondsPerTick = secondsPerTick;
    this.onSelect = onSelect;
    this.selected = -1;
    this.limit = Infinity;  // right of it, nothing of a bar is drawn
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => this.fit()).observe(canvas);
  }

  show(layout) {
    this.layout = layout;
    this.selected = -1;
    this.reset();
  }

  reset() {
    this.time = {from: 0, to: Math.max(this.layout.end, 1)};
    this.top = 0;
    this.fit();
    this.rowHeight = this.leastRowHeight();
    this.draw();
  }

  // Sizes in pixels of the device.
  fit() {
    const scale = window.devicePixelRatio || 1;
    const width = Math.max(Math.round(this.canvas.clientWidth * scale), 60);
    const height = Math.max(Math.round(this.canvas.clientHeight * scale), 60);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.scale = scale;
    this.margin = {left: Math.round(Math.min(130 * scale, width / 4)), bottom: Math.round(36 * scale), right: Math.round(10 * scale)};
    this.width = Math.max(width - this.margin.left - this.margin.right, 1);
    this.height = Math.max(height - this.margin.bottom, 1);
    if (this.layout) {
      this.clamp();
      this.draw();
    }
  }

  // All rows are in view, but none is thicker than is good to look at.
  leastRowHeight() {
    return Math.min(this.height / Math.max(this.layout.rows, 1), 26 * this.scale);
  }

  clamp() {
    const end = Math.max(this.layout.end, 1);
    const span = Math.min(Math.max(this.time.to - this.time.from, 5), end);
    this.time.from = Math.min(Math.max(this.time.from, 0), end - span);
    this.time.to = this.time.from + span;
    const least = this.leastRowHeight();
    this.rowHeight = Math.min(Math.max(this.rowHeight || least, least), Math.max(least, 26 * this.scale));
    this.top = Math.max(Math.min(this.top, this.layout.rows - this.height / this.rowHeight), 0);
  }

  // By `factor`, around a place of the canvas (its middle if there is none).
  zoom(factor, x = this.margin.left + this.width / 2, y = this.height / 2) {
    const part = Math.min(Math.max((x - this.margin.left) / this.width, 0), 1);
    const at = this.time.from + part * (this.time.to - this.time.from);
    const span = (this.time.to - this.time.from) / factor;
    const row = this.top + y / this.rowHeight;
    this.time = {from: at - part * span, to: at + (1 - part) * span};
    this.rowHeight *= factor;
    this.clamp();
    this.top = row - y / this.rowHeight;
    this.clamp();
    this.draw();
  }

  pan(dx, dy) {
    const ticks = dx * (this.time.to - this.time.from) / this.width;
    this.time = {from: this.time.from + ticks, to: this.time.to + ticks};
    this.top += dy / this.rowHeight;
    this.clamp();
    this.draw();
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      const at = this.place(event);
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 0 ? 0.002 : 0.05)), at.x, at.y);
    }, {passive: false});
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, this.place(event));
    });
    canvas.addEventListener("pointermove", event => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, event => this.pointers.delete(event.pointerId));
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("keydown", event => {
      const step = 0.15;
      const keys = {
        ArrowLeft: () => this.pan(-this.width * step, 0), ArrowRight: () => this.pan(this.width * step, 0),
        ArrowUp: () => this.pan(0, -this.height * step), ArrowDown: () => this.pan(0, this.height * step),
        "+": () => this.zoom(1.5), "=": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5), "0": () => this.reset(),
        n: () => this.step(1), p: () => this.step(-1),
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return {x: (event.clientX - box.left) * this.scale, y: (event.clientY - box.top) * this.scale};
  }

  // One pressed pointer pans, two zoom, none selects what is below.
  move(event) {
    const now = this.place(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.select(this.barAt(now.x, now.y));
      return;
    }
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    this.pointers.set(event.pointerId, now);
    if (others.length === 0) {
      this.pan(before.x - now.x, before.y - now.y);
    } else {
      const apart = at => Math.hypot(at.x - others[0].x, at.y - others[0].y) || 1;
      this.zoom(apart(now) / apart(before), (now.x + others[0].x) / 2, (now.y + others[0].y) / 2);
    }
  }

  xOf(tick) {
    return (tick - this.time.from) * this.width / (this.time.to - this.time.from);
  }

  // The bar at a place, or the nearest one at most 4 pixels beside it in one of its rows; -1: none.
  barAt(x, y) {
    const {first, bars, left, right, rows} = this.layout;
    const from = Math.max(Math.floor(this.top + y / this.rowHeight), 0);
    const to = Math.min(Math.max(Math.floor(this.top + (y + 1) / this.rowHeight), from + 1), rows);
    let best = -1;
    let distance = 4 * this.scale;
    if (y > this.height) return -1;
    for (let i = from < rows ? first[from] : 0, end = from < rows ? first[to] : 0; i < end; ++i) {
      const away = Math.max(this.xOf(left(bars[i])) + this.margin.left - x, x - this.margin.left - this.xOf(right(bars[i])), 0);
      if (away < distance) {
        best = bars[i];
        distance = away;
      }
    }
    return best;
  }

  select(bar) {
    if (bar === this.selected) return;
    this.selected = bar;
    this.onSelect(bar);
    this.draw();
  }

  // Selects the next or previous bar, and brings it into view.
  step(by) {
    const {bars, first, rows, left, right} = this.layout;
    if (bars.length === 0) return;
    const now = bars.indexOf(this.selected);
    const at = now < 0 ? first[Math.min(Math.floor(this.top), rows - 1)] : (now + by + bars.length) % bars.length;
    const bar = bars[Math.min(at, bars.length - 1)];
    const row = this.rowOf(bar);
    if (row < this.top || row >= this.top + this.height / this.rowHeight - 1) this.top = row - this.height / this.rowHeight / 2;
    const span = this.time.to - this.time.from;
    if (left(bar) < this.time.from || left(bar) > this.time.to) {
      const middle = (left(bar) + Math.min(right(bar), left(bar) + span)) / 2;
      this.time = {from: middle - span / 2, to: middle + span / 2};
    }
    this.clamp();
    this.select(bar);
  }

  rowOf(bar) {
    const {first, bars} = this.layout;
    const at = bars.indexOf(bar);
    let low = 0;
    let high = this.layout.rows;
    while (high - low > 1) {  // the last row that begins at or before it
      const middle = (low + high) >> 1;
      if (first[middle] <= at) low = middle; else high = middle;
    }
    return low;
  }

  draw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.drawNow();
    });
  }

  drawNow() {
    const style = getComputedStyle(this.canvas);
    const {context, width, height} = this;
    this.ink = style.color;
    this.paper = rgbOf(style.backgroundColor);
    context.font = `${12 * this.scale}px system-ui, sans-serif`;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.underColor = this.layout.under && this.layout.underColor();
    const image = context.createImageData(width, height);
    new Uint32Array(image.data.buffer).fill(new Uint32Array(new Uint8ClampedArray([...this.paper, 255]).buffer)[0]);
    this.sums = new Float64Array(4 * (width + 2));
    if (this.rowHeight >= 2) {
      for (let row = Math.floor(this.top); row < this.layout.rows; ++row) {
        const y = Math.round((row - this.top) * this.rowHeight);
        if (y >= height) break;
        const gap = this.rowHeight >= 5 * this.scale ? Math.round(this.scale) : 0;
        this.drawRows(image, row, row + 1, Math.max(y, 0), Math.min(Math.round((row + 1 - this.top) * this.rowHeight) - gap, height));
      }
    } else {
      for (let y = 0; y < height; ++y) {
        const from = Math.floor(this.top + y / this.rowHeight);
        const to = Math.min(Math.max(Math.floor(this.top + (y + 1) / this.rowHeight), from + 1), this.layout.rows);
        if (from < to) this.drawRows(image, from, to, y, y + 1);
      }
    }
    context.putImageData(image, this.margin.left, 0);
    this.drawSelected();
    this.drawTimes();
    this.drawLabels();
  }

  // Rows `from` to `to` share the pixel lines `y0` to `y1`.
  drawRows(image, from, to, y0, y1) {
    const {first, bars, under, paint} = this.layout;
    const weight = 1 / (to - from);
    const underColor = under && this.underColor;
    const span = (left, right, color) => this.add(left, right, color, weight);
    for (let row = from; under && row < to; ++row) {
      const [left, right] = under(row);
      span(left, right, underColor);
    }
    if (under) this.blend(image, y0, y1);
    // The end of a bar is left out, so that the next one of its color is seen as another.
    const gap = this.rowHeight >= 5 * this.scale ? this.scale : 0;
    for (let i = first[from]; i < first[to]; ++i) {
      const end = this.xOf(this.layout.right(bars[i]));
      this.limit = end - this.xOf(this.layout.left(bars[i])) > 5 * gap ? end - gap : end;
      paint(bars[i], span);
    }
    this.limit = Infinity;
    this.blend(image, y0, y1);
  }

  // Adds a span to the pixels of a line by its two ends: their running sums are what each pixel is covered.
  add(left, right, color, weight) {
    const x0 = this.xOf(left);
    const x1 = Math.min(this.xOf(right), this.limit);
    if (x1 < 0 || x0 >= this.width) return;
    this.addEnd(Math.max(x0, 0), color, weight);
    // Also what took no time is visible.
    this.addEnd(Math.min(Math.max(x1, x0 + 0.05), this.width), color, -weight);
    this.touched = true;
  }

  addEnd(x, color, weight) {
    const at = Math.floor(x);
    const part = x - at;
    const sums = this.sums;
    for (let i = 0; i < 2; ++i) {
      const w = i === 0 ? weight * (1 - part) : weight * part;
      const place = 4 * (at + i);
      sums[place] += w * color[0];
      sums[place + 1] += w * color[1];
      sums[place + 2] += w * color[2];
      sums[place + 3] += w;
    }
  }

  // Writes the sums into the lines of the image, and empties them.
  blend(image, y0, y1) {
    if (!this.touched) return;
    this.touched = false;
    const {sums, width} = this;
    const data = image.data;
    let red = 0, green = 0, blue = 0, covered = 0;
    for (let x = 0; x < width; ++x) {
      red += sums[4 * x];
      green += sums[4 * x + 1];
      blue += sums[4 * x + 2];
      covered += sums[4 * x + 3];
      if (covered < 1e-9) continue;
      const alpha = covered >= 1 ? 1 : 0.35 + 0.65 * covered;
      for (let y = y0; y < y1; ++y) {
        const place = 4 * (y * width + x);
        data[place] += alpha * (red / covered - data[place]);
        data[place + 1] += alpha * (green / covered - data[place + 1]);
        data[place + 2] += alpha * (blue / covered - data[place + 2]);
      }
    }
    sums.fill(0);
  }

  drawSelected() {
    if (this.selected < 0) return;
    const {context} = this;
    const x0 = Math.max(this.xOf(this.layout.left(this.selected)), 0);
    const x1 = Math.min(this.xOf(this.layout.right(this.selected)), this.width);
    const y = (this.rowOf(this.selected) - this.top) * this.rowHeight;
    if (x1 < 0 || x0 > this.width || y < -this.rowHeight || y > this.height) return;
    context.strokeStyle = this.ink;
    context.lineWidth = 2 * this.scale;
    context.strokeRect(this.margin.left + x0 - this.scale, y - this.scale, Math.max(x1 - x0, 2) + 2 * this.scale,
                       Math.max(this.rowHeight, 2) + this.scale);
  }

  drawTimes() {
    const {context, margin, height, scale} = this;
    const from = this.time.from * this.secondsPerTick;
    const to = this.time.to * this.secondsPerTick;
    const step = timeStep((to - from) / Math.max(this.width / (90 * scale), 1));
    context.fillStyle = this.ink;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (let n = Math.ceil(from / step); n * step <= to; ++n) {
      const x = margin.left + (n * step - from) * this.width / (to - from);
      context.globalAlpha = 0.15;
      context.fillRect(Math.round(x), 0, Math.max(Math.round(scale), 1), height);
      context.globalAlpha = 1;
      context.fillText(timeText(n * step, step), Math.min(x, this.canvas.width - 30 * scale), height + 4 * scale);
    }
    context.fillText("time since the start", margin.left + this.width / 2, height + 20 * scale);
  }

  drawLabels() {
    const {context, margin, scale} = this;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const line = 15 * scale;
    let free = 0;
    for (const label of this.layout.labels || this.numbers()) {
      const middle = (label.row + label.rows / 2 - this.top) * this.rowHeight;
      if (middle < 0 || middle > this.height) continue;
      const y = Math.max(middle, line / 2);
      if (y < free) continue;
      context.fillText(shortened(context, label.text, margin.left - 8 * scale), margin.left - 5 * scale, y);
      free = y + line;
    }
  }

  numbers() {
    const rows = Math.min(this.height / this.rowHeight, this.layout.rows);
    const step = Math.max(niceStep(rows / Math.max(this.height / (60 * this.scale), 1)), 1);
    const numbers = [];
    for (let row = Math.ceil(this.top / step) * step; row <= this.top + rows; row += step)
      if (row > 0) numbers.push({row: row - 1, rows: 1, text: row.toLocaleString("en")});
    return numbers;
  }
}

// The least of 1, 2, 5, 10 ... that is at least `least`.
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  return [1, 2, 5, 10].map(n => n * power).find(n => n >= least * 0.999);
}

// Above a second in units of a clock.
function timeStep(least) {
  if (least <= 1) return niceStep(least);
  const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400];
  return steps.find(step => step >= least) || 86400 * niceStep(least / 86400);
}

// "2 ms", "1.5 s", "2:05", "1:02:05", "3d 4:00:00": seconds, as exactly as `step` is.
function timeText(seconds, step) {
  if (step < 0.001) return `${+(seconds * 1e6).toFixed(0)} \u00b5s`;
  if (step < 0.1 && Math.abs(seconds) < 1) return `${+(seconds * 1e3).toFixed(0)} ms`;
  const whole = step < 1 ? seconds : Math.round(seconds);
  if (whole < 60) return `${+whole.toFixed(3)} s`;
  const two = n => String(n).padStart(2, "0");
  const days = Math.floor(whole / 86400);
  const hours = Math.floor(whole % 86400 / 3600);
  const minutes = Math.floor(whole % 3600 / 60);
  const rest = step < 1 ? (whole % 60).toFixed(3).padStart(6, "0") : two(whole % 60);
  if (days > 0) return `${days}d ${hours}:${two(minutes)}:${rest}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

function shortened(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let kept = Math.min(text.length, 200);
  while (kept > 1 && context.measureText(text.slice(0, kept) + "\u2026").width > width) --kept;
  return text.slice(0, kept) + "\u2026";
}

// Of "rgb(1, 2, 3)" or "#010203".
function rgbOf(text) {
  if (text.startsWith("#")) return [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
  return (text.match(/[\d.]+/g) || [255, 255, 255]).slice(0, 3).map(Number);
}
