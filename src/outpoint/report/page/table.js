// The table of edges: uncertain ones first, sorted by a click on a heading, filtered while typing.

const FIRST_ROWS = 25;
const MORE_ROWS = 200;

function makeTable(payload) {
  const { columns, rows } = payload.table;
  const isName = (column) => column.key === "parent" || column.key === "child";
  const isWord = (column) => isName(column) || column.key === "status";
  const isExtra = (column) => !["parent", "child", "probability", "reversed"].includes(column.key);
  const rank = new Map(payload.names.slice().sort((a, b) => a.localeCompare(b)).map((name, i) => [name, i]));
  const folded = payload.names.map((name) => name.toLowerCase());
  const head = document.querySelector("#edge-table thead tr");
  const body = document.querySelector("#edge-table tbody");
  const more = document.getElementById("more");
  const uncertain = document.getElementById("uncertain");
  let sorted = null; // rows come with the most uncertain edges first
  let wanted = "";
  let limit = FIRST_ROWS;

  function classOf(column) {
    return `${isWord(column) ? "" : "number"} ${isExtra(column) ? "extra" : ""}`.trim();
  }

  columns.forEach((column, index) => {
    const cell = make("th", undefined, classOf(column));
    cell.scope = "col";
    const button = make("button", column.title);
    button.type = "button";
    button.addEventListener("click", () => sortBy(index));
    cell.append(button);
    head.append(cell);
  });

  function sortBy(index) {
    const descending = sorted && sorted.index === index ? !sorted.descending : !isWord(columns[index]);
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

  function findRows() {
    const found = rows.filter((row) => folded[row[0]].includes(wanted) || folded[row[1]].includes(wanted));
    return sorted ? found.sort(compare) : found;
  }

  function cellText(column, value) {
    if (isName(column)) return payload.names[value];
    if (value === null) return "–";
    if (typeof value === "string") return value;
    if (column.key === "probability" || column.key === "reversed") return probability(value);
    return value === 0 ? "0" : Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
  }

  function update() {
    uncertain.setAttribute("aria-pressed", String(sorted === null));
    head.querySelectorAll("th").forEach((cell, index) => {
      if (!sorted || index !== sorted.index) cell.removeAttribute("aria-sort");
      else cell.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
    });
    const found = findRows();
    body.replaceChildren(...found.slice(0, limit).map((row) => {
      const line = make("tr");
      columns.forEach((column, index) => {
        line.append(make("td", cellText(column, row[index]), isName(column) ? "name" : classOf(column)));
      });
      return line;
    }));
    const shown = Math.min(limit, found.length);
    document.getElementById("rows").textContent = `${shown.toLocaleString("en")} of ${count(found.length, "edge")}`;
    more.hidden = shown === found.length;
    more.textContent = `Show ${Math.min(MORE_ROWS, found.length - shown).toLocaleString("en")} more`;
  }

  more.addEventListener("click", () => {
    limit += MORE_ROWS;
    update();
  });
  uncertain.addEventListener("click", () => {
    sorted = null;
    update();
  });
  document.getElementById("filter").addEventListener("input", (event) => {
    wanted = event.target.value.trim().toLowerCase();
    limit = FIRST_ROWS;
    update();
  });
  document.getElementById("save-csv").addEventListener("click", () => {
    const plain = (value, index) => (isName(columns[index]) ? payload.names[value] : value);
    saveCsv(columns.map((column) => column.key), findRows().map((row) => row.map(plain)));
  });
  update();
}
