// The panel of one variable: its parent sets, its Markov blanket and its connections.

function makeDetails(payload, onClose) {
  const panel = document.getElementById("details");
  let current = null;

  function valueRow(text, value, className) {
    const row = make("tr");
    const cell = make("td", undefined, "number");
    cell.append(svgBar(value), probability(value));
    row.append(make("th", text, className), cell);
    row.firstChild.scope = "row";
    return row;
  }

  function section(title, rows, empty) {
    const table = make("table");
    const body = make("tbody");
    body.append(...rows);
    table.append(body);
    return [make("h3", title), rows.length ? table : make("p", empty, "hint")];
  }

  function parentSets(node) {
    return payload.nodes[node].sets.map(([members, value]) => {
      const text = members.map((other) => payload.names[other]).join(", ");
      return valueRow(members.length ? text : "no parents", value, members.length ? "name" : "word");
    });
  }

  function blanket(node) {
    return payload.nodes[node].blanket
      .map(([other, value]) => valueRow(payload.names[other], value, "name"));
  }

  function connections(node) {
    return payload.graph.pairs
      .filter(([first, second]) => first === node || second === node)
      .sort((a, b) => b[2] + b[3] - a[2] - a[3])
      .map(([first, second, forward, backward]) => {
        const from = first === node;
        const row = make("tr");
        row.append(
          make("th", payload.names[from ? second : first], "name"),
          make("td", probability(from ? forward : backward), "number"),
          make("td", probability(from ? backward : forward), "number"),
        );
        row.firstChild.scope = "row";
        return row;
      });
  }

  function connectionTable(rows) {
    const [title, table] = section("Connections", rows, "None is probable.");
    if (rows.length) {
      const head = make("thead");
      const row = make("tr");
      ["with", "to it", "from it"].forEach((text, i) => {
        const cell = make("th", text, i ? "number" : "");
        cell.scope = "col";
        row.append(cell);
      });
      head.append(row);
      table.prepend(head);
    }
    return [title, table];
  }

  return function show(node) {
    if (node === current) return;
    current = node;
    panel.hidden = node === null;
    if (node === null) {
      panel.replaceChildren();
      return;
    }
    const title = make("h3", payload.names[node], "name title");
    const close = make("button", "Close", "close");
    close.type = "button";
    close.addEventListener("click", onClose);
    const top = make("div", undefined, "top");
    top.append(title, close);
    panel.replaceChildren(
      top,
      ...section("Parent sets", parentSets(node), "None is probable."),
      ...section(`Markov blanket (${count(payload.n_draws, "draw")})`, blanket(node), "Nothing is in it."),
      ...connectionTable(connections(node)),
    );
    panel.scrollTop = 0;
  };
}
