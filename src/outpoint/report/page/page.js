// Start: read what the page knows and connect its parts.

const payload = JSON.parse(document.getElementById("payload").textContent);
const slider = document.getElementById("threshold");
const find = document.getElementById("find");
const show = document.getElementById("show");
const numbers = document.getElementById("numbers");

const showDetails = makeDetails(payload, () => graph.choose(null));
let saying = "";

function describe(state, nLines, nNodes) {
  const where = state.around ? `${payload.names[state.chosen]} and its neighbourhood, ${count(nNodes, "variable")}` : count(nNodes, "variable");
  const what = state.dag === null ? `${count(nLines, "connection")} of probability ${state.threshold.toFixed(2)} or more` : `${count(nLines, "edge")} of ${show.selectedOptions[0].textContent}`;
  return `${what} among ${where}`;
}

const graph = makeGraph(payload, (state, nLines, nNodes) => {
  saying = describe(state, nLines, nNodes);
  document.getElementById("count").textContent = saying;
  find.value = state.chosen === null ? "" : String(state.chosen);
  document.querySelector(`input[name=scope][value=${state.around ? "around" : "whole"}]`).checked = true;
  slider.disabled = state.dag !== null;
  showDetails(state.chosen);
});

payload.names.forEach((name, node) => {
  const option = make("option", name.length > 60 ? `${name.slice(0, 59)}…` : name);
  option.value = String(node);
  find.append(option);
});
find.addEventListener("change", () => {
  const node = find.value === "" ? null : Number(find.value);
  graph.choose(node);
  if (node !== null) graph.reveal(node);
});

function showThreshold() {
  document.getElementById("threshold-value").textContent = Number(slider.value).toFixed(2);
}
slider.min = String(payload.graph.least);
slider.value = String(payload.graph.threshold);
slider.addEventListener("input", () => {
  showThreshold();
  graph.set("threshold", Number(slider.value));
});

document.querySelectorAll("input[name=scope]").forEach((radio) => {
  radio.addEventListener("change", () => graph.setAround(radio.value === "around"));
});

document.querySelectorAll("input[name=view]").forEach((radio) => radio.addEventListener("change", () => {
  const cpdag = radio.value === "cpdag";
  document.getElementById("key-known").textContent = cpdag ? "mostly compelled" : "one way at least 3 times as probable";
  document.getElementById("key-doubt").textContent = cpdag ? "mostly reversible" : "either way";
  document.getElementById("key-head").setAttribute("visibility", cpdag ? "hidden" : "visible");
  graph.set("view", radio.value);
}));

function showDag(value) {
  show.value = value;
  graph.set("dag", value === "" ? null : Number(value));
}
show.addEventListener("change", () => showDag(show.value));
document.querySelectorAll("button[data-dag]").forEach((button) => button.addEventListener("click", () => {
  graph.setAround(false);
  showDag(button.dataset.dag);
  document.getElementById("graph").scrollIntoView();
}));

numbers.addEventListener("change", () => {
  document.getElementById("key-numbers").hidden = !numbers.checked;
  graph.set("numbers", numbers.checked);
});

const failed = document.getElementById("save-failed");
document.getElementById("save-svg").addEventListener("click", () => {
  download("outpoint-graph.svg", [standaloneSvg(saying).text], "image/svg+xml");
});
document.getElementById("save-png").addEventListener("click", () => {
  failed.hidden = true;
  savePng(standaloneSvg(saying), () => { failed.hidden = false; });
});

showThreshold();
graph.start();
makeTable(payload);
makeEffects(payload);
