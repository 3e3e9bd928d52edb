// Start: read what the page knows and connect its parts.

const payload = JSON.parse(document.getElementById("payload").textContent);
const slider = document.getElementById("threshold");
const find = document.getElementById("find");

const showDetails = makeDetails(payload, () => graph.choose(null));
const graph = makeGraph(payload, (node) => {
  find.value = node === null ? "" : String(node);
  showDetails(node);
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

function readThreshold() {
  const value = Number(slider.value);
  document.getElementById("threshold-value").textContent = value.toFixed(2);
  graph.setThreshold(value);
}
slider.min = String(payload.graph.least);
slider.addEventListener("input", readThreshold);

document.querySelectorAll("input[name=view]").forEach((radio) => radio.addEventListener("change", () => {
  const cpdag = radio.value === "cpdag";
  document.getElementById("key-known").textContent = cpdag ? "compelled" : "direction known";
  document.getElementById("key-doubt").textContent = cpdag ? "reversible" : "direction in doubt";
  document.getElementById("key-head").setAttribute("visibility", cpdag ? "hidden" : "visible");
  graph.setView(radio.value);
}));

readThreshold();
makeTable(payload);
