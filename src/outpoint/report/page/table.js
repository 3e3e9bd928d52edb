// The table of edges: sorted by a click on a heading, filtered while typing.

const FIRST_ROWS = 100;
const MORE_ROWS = 500;

function makeTable(payload) {
  const { columns, rows } = payload.table;
  const status = columns.findIndex((column) => column.key === "status");
  const isName = (column) => column.key === "parent" || column.key === "child";
  const rank = new Map(payload.names.slice().sort((a, b) => a.localeCompare(b)).map((name, i) => [name, i]));
  const folded = payload.names.map((name) => name.toLowerCase());
  const head = document.querySelector("#edge-table thead tr");
  const body = document.querySelector("#edge-table tbody");
  const more = document.getElementById("more");
  let sorted = { index: columns.findIndex((column) => column.key === "probability"), descending: true };
  let wanted = "";
  let limit = FIRST_ROWS;

  columns.forEach((column, index) => {
    const cell = make("th", undefined, isName(column) || index === status ? "" : "number");
    cell.scope = "col";
    const button = make("button", column.title);
    button.type = "button";
    button.addEventListener("click", () => sortBy(index));
    cell.append(button);
    head.append(cell);
  });

  function sortBy(index) {
    const words = isName(columns[index]) || index === status;
    const descending = sorted.index === index ? !sorted.descending : !words;
    sorted = { index, descending };
    update();
  }

  function keyOf(row) {
    const value = row[sorted.index];
    return isName(columns[sorted.index]) ? rank.get(payload.names[value]) : value;
  }

  // What has no value comes last, whichever way the column is sorted.
  function compare(a, b) {
    const [x, y] = [keyOf(a), keyOf(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    const order = x < y ? -1 : x > y ? 1 : 0;
    return sorted.descending ? -order : order;
  }

  function cellText(column, value, row) {
    if (isName(column)) return [payload.names[value], "name"];
    if (value === null) return [status >= 0 ? row[status] : "none", "number word"];
    if (typeof value === "string") return [value, ""];
    if (column.key === "probability" || column.key === "reversed") return [probability(value), "number"];
    return [value === 0 ? "0" : Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3), "number"];
  }

  function update() {
    head.querySelectorAll("th").forEach((cell, index) => {
      if (index !== sorted.index) cell.removeAttribute("aria-sort");
      else cell.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
    });
    const found = rows.filter((row) => folded[row[0]].includes(wanted) || folded[row[1]].includes(wanted)).sort(compare);
    body.replaceChildren(...found.slice(0, limit).map((row) => {
      const line = make("tr");
      columns.forEach((column, index) => line.append(make("td", ...cellText(column, row[index], row))));
      return line;
    }));
    const shown = Math.min(limit, found.length);
    document.getElementById("rows").textContent = `${shown.toLocaleString("en")} of ${found.length.toLocaleString("en")} edges`;
    more.hidden = shown === found.length;
    more.textContent = `Show ${Math.min(MORE_ROWS, found.length - shown).toLocaleString("en")} more`;
  }

  more.addEventListener("click", () => {
    limit += MORE_ROWS;
    update();
  });
  document.getElementById("filter").addEventListener("input", (event) => {
    wanted = event.target.value.trim().toLowerCase();
    limit = FIRST_ROWS;
    update();
  });
  const leftOut = document.getElementById("left-out");
  leftOut.hidden = payload.table.left_out === 0;
  leftOut.textContent = `${payload.table.left_out.toLocaleString("en")} less probable edges are left out here.`;
  update();
}
