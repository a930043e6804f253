"use strict";

// A table with columns that sort, a text filter and pages of rows, of any number of rows.
//
// columns: {name, of(row) (its value: a number, below 0 if it is not recorded, or a text), text(row) (what is shown; default: the
// value), unit, wide}. rows: their count; row numbers are passed to of() and text(). onRow: called with the row that is chosen.
class Table {
  constructor(parent, columns, rows, {onRow, filters = [], onChange} = {}) {
    this.columns = columns;
    this.rows = rows;
    this.onRow = onRow;
    this.onChange = onChange;
    this.sorted = {column: -1, down: false};
    this.page = 0;
    this.filters = filters;
    const bar = addElement(parent, "div", "", {className: "bar"});
    const label = addElement(bar, "label", "Search ");
    this.search = addElement(label, "input", "", {type: "search"});
    this.search.addEventListener("input", () => this.update());
    this.selects = filters.map(filter => this.addFilter(bar, filter));
    this.count = addElement(bar, "span", "", {className: "faint"});
    const box = addElement(parent, "div", "", {className: "scroll"});
    const table = addElement(box, "table");
    const head = addElement(addElement(table, "thead"), "tr");
    this.heads = columns.map((column, at) => {
      const cell = addElement(head, "th", "", {scope: "col"});
      addElement(cell, "button", column.name + (column.unit ? ` (${column.unit})` : "")).addEventListener("click", () => this.sort(at));
      return cell;
    });
    this.body = addElement(table, "tbody");
    this.pager = addElement(parent, "div", "", {className: "bar"});
    this.update();
  }

  addFilter(bar, {name, values}) {
    const select = addElement(addElement(bar, "label", name + " "), "select");
    addElement(select, "option", "all", {value: ""});
    values.forEach((value, place) => addElement(select, "option", value, {value: String(place)}));
    select.addEventListener("change", () => this.update());
    return select;
  }

  // What was asked for, as a text for the address, and back.
  get selection() {
    const parts = [this.search.value, ...this.selects.map(select => select.value), this.sorted.column, this.sorted.down ? 1 : 0];
    return parts.map(encodeURIComponent).join(",");
  }
  // Anyone may have written the address.
  set selection(text) {
    let parts;
    try {
      parts = text.split(",").map(decodeURIComponent);
    } catch {
      return;
    }
    if (parts.length !== this.selects.length + 3) return;
    this.search.value = parts[0];
    this.selects.forEach((select, at) => { select.value = parts[at + 1]; });
    const column = Number(parts[parts.length - 2]);
    this.sorted = {column: column < this.columns.length ? column : -1, down: parts[parts.length - 1] === "1"};
    this.update();
  }

  sort(column) {
    const again = this.sorted.column === column;
    this.sorted = {column, down: again ? !this.sorted.down : this.rows > 0 && typeof this.columns[column].of(0) === "number"};
    this.update();
  }

  update() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(word => word !== "");
    const chosen = this.selects.map(select => select.value);
    const order = [];
    for (let row = 0; row < this.rows; ++row) {
      if (!this.filters.every((filter, at) => chosen[at] === "" || filter.of(row) === Number(chosen[at]))) continue;
      if (words.length > 0) {
        const text = this.columns.map(column => this.textOf(column, row)).join(" ").toLowerCase();
        if (!words.every(word => text.includes(word))) continue;
      }
      order.push(row);
    }
    const column = this.columns[this.sorted.column];
    if (column) {
      const down = this.sorted.down ? -1 : 1;
      const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
      const lacks = row => Number(typeof column.of(row) === "number" && column.of(row) < 0);  // what is not recorded is neither the most nor the least
      order.sort((a, b) => lacks(a) - lacks(b) || down * compare(column.of(a), column.of(b)) || a - b);
    }
    this.order = order;
    this.page = 0;
    this.show();
    if (this.onChange) this.onChange();
  }

  textOf(column, row) {
    const value = column.text ? column.text(row) : column.of(row);
    return typeof value === "number" ? value.toLocaleString("en", {maximumFractionDigits: 3}) : String(value);
  }

  show() {
    const rowsOfPage = 100;
    const pages = Math.max(Math.ceil(this.order.length / rowsOfPage), 1);
    this.page = Math.min(Math.max(this.page, 0), pages - 1);
    this.count.textContent = `${this.order.length.toLocaleString("en")} of ${this.rows.toLocaleString("en")}`;
    this.heads.forEach((cell, at) => {
      cell.setAttribute("aria-sort", at !== this.sorted.column ? "none" : this.sorted.down ? "descending" : "ascending");
    });
    this.body.textContent = "";
    for (const row of this.order.slice(this.page * rowsOfPage, (this.page + 1) * rowsOfPage)) {
      const line = addElement(this.body, "tr");
      for (const column of this.columns)
        addElement(line, "td", this.textOf(column, row), {className: typeof column.of(row) === "number" ? "number" : ""});
      if (!this.onRow) continue;
      line.tabIndex = 0;
      line.className = "chooses";
      line.addEventListener("click", () => this.onRow(row));
      line.addEventListener("keydown", event => { if (event.key === "Enter") this.onRow(row); });
    }
    this.pager.textContent = "";
    if (pages === 1) return;
    const button = (text, page) => {
      const made = addElement(this.pager, "button", text);
      made.disabled = page < 0 || page >= pages;
      made.addEventListener("click", () => { this.page = page; this.show(); });
    };
    button("Previous", this.page - 1);
    addElement(this.pager, "span", `page ${this.page + 1} of ${pages}`);
    button("Next", this.page + 1);
  }
}
