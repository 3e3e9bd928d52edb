// One effect by structure: how large it is in the DAGs that give the cause these parents.

function makeEffects(payload) {
  const pairs = payload.effects;
  if (pairs.length === 0) return;
  const choice = document.getElementById("effect-choice");
  const region = document.getElementById("effect-groups");
  const cause = document.getElementById("effect-cause");
  const effect = document.getElementById("effect-effect");
  const body = region.querySelector("tbody");

  function fill(select, nodes, wanted) {
    select.replaceChildren(...nodes.map((node) => {
      const name = payload.names[node];
      const option = make("option", name.length > 60 ? `${name.slice(0, 59)}…` : name);
      option.value = String(node);
      option.selected = node === wanted;
      return option;
    }));
  }

  function write(value) {
    return value === 0 ? "0" : Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
  }

  function bar(scale, mean, lower, upper) {
    const svg = d3.create("svg").attr("class", "interval").attr("aria-hidden", "true").attr("viewBox", "0 0 200 14");
    svg.append("line").attr("class", "zero").attr("x1", scale(0)).attr("x2", scale(0)).attr("y1", 0).attr("y2", 14);
    svg.append("line").attr("class", "range").attr("x1", scale(lower)).attr("x2", scale(upper)).attr("y1", 7).attr("y2", 7);
    svg.append("circle").attr("cx", scale(mean)).attr("cy", 7).attr("r", 4);
    return svg.node();
  }

  function describeParents(parents) {
    if (parents === null) return "other parents";
    return parents.length === 0 ? "none" : parents.map((node) => payload.names[node]).join(", ");
  }

  function show() {
    const pair = pairs.find((one) => one.cause === Number(cause.value) && one.effect === Number(effect.value));
    const ends = pair.groups.flatMap((group) => [group[3], group[4], group[2]]);
    const scale = d3.scaleLinear([Math.min(0, ...ends), Math.max(0, ...ends)], [6, 194]);
    document.getElementById("effect-none").textContent = `no effect, as no path leads there: ${probability(pair.none)}`;
    body.replaceChildren(...pair.groups.map(([parents, share, mean, lower, upper]) => {
      const row = make("tr");
      row.append(make("td", describeParents(parents), "name"));
      row.append(make("td", probability(share), "number"));
      row.append(make("td", write(mean), "number"));
      row.append(make("td", `${write(lower)} to ${write(upper)}`, "number range"));
      const cell = make("td", "", "extra");
      cell.append(bar(scale, mean, lower, upper));
      row.append(cell);
      return row;
    }));
  }

  function showCause(wanted) {
    fill(effect, pairs.filter((one) => one.cause === Number(cause.value)).map((one) => one.effect), wanted);
    show();
  }

  fill(cause, [...new Set(pairs.map((one) => one.cause))], pairs[0].cause);
  cause.addEventListener("change", () => showCause(null));
  effect.addEventListener("change", show);
  choice.hidden = region.hidden = false;
  showCause(pairs[0].effect);
}
