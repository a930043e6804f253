"use strict";

// A column of numbers: base64 of their differences, zigzag, 7 bits a byte. Empty: zeros. (columns.h writes it.)
function columnOf(text, count) {
  const values = new Float64Array(count);
  const bytes = atob(text);
  let value = 0;
  for (let i = 0, at = 0; i < count && at < bytes.length; ++i) {
    let number = 0;
    let scale = 1;
    let byte;
    do {
      byte = bytes.charCodeAt(at++);
      number += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    value += number % 2 ? -(number + 1) / 2 : number / 2;
    values[i] = value;
  }
  return values;
}

const columnsOf = (table, count) => Object.fromEntries(Object.entries(table).map(([name, text]) => [name, columnOf(text, count)]));

// Texts come from a run that anyone may have written: they only ever become text.
function addElement(parent, name, text = "", properties = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  Object.assign(made, properties);
  parent.append(made);
  return made;
}
