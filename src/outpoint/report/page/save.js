// Saving: the graph as it is drawn, as SVG or PNG, and the edges of the table as CSV.

const STYLES = ["fill", "stroke", "stroke-width", "stroke-opacity", "opacity", "font-size", "font-weight", "text-anchor", "paint-order", "stroke-linejoin"];
const DROPPED = ["class", "role", "tabindex", "aria-label", "aria-pressed", "data-node", "data-pair", "style"];
const PNG_SCALE = 2;
const LARGEST_SIDE = 12000;

function download(name, parts, type) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// Text that may stand in XML, which knows neither control characters nor half characters.
function xmlText(text) {
  return text.replace(/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, "\uFFFD");
}

// A document of its own, in the colours of paper: what style sheets say becomes attributes.
function standaloneSvg(description) {
  const svg = document.getElementById("drawing");
  svg.classList.add("paper");
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    if (element.matches("path, rect, text")) STYLES.forEach((name) => element.setAttribute(name, style.getPropertyValue(name)));
    if (element.matches("g") && style.opacity !== "1") element.setAttribute("opacity", style.opacity);
    if (element.matches("title, text")) element.textContent = xmlText(element.textContent);
  });
  const background = getComputedStyle(svg).getPropertyValue("--card").trim();
  svg.classList.remove("paper");
  copy.querySelectorAll(".hit").forEach((element) => element.remove());
  [copy, ...copy.querySelectorAll("*")].forEach((element) => DROPPED.forEach((name) => element.removeAttribute(name)));
  copy.firstElementChild.removeAttribute("transform");
  const [x, y, width, height] = copy.getAttribute("viewBox").split(" ");
  const entries = { id: "graph", width, height, "font-family": "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif" };
  Object.entries(entries).forEach(([name, value]) => copy.setAttribute(name, value));
  const paper = d3.create("svg:rect").attr("x", x).attr("y", y).attr("width", width).attr("height", height).attr("fill", background);
  const words = d3.create("svg:desc").text(xmlText(description));
  copy.prepend(words.node(), paper.node());
  return { text: new XMLSerializer().serializeToString(copy), width: Number(width), height: Number(height) };
}

function savePng({ text, width, height }, onFailure) {
  const scale = Math.min(PNG_SCALE, LARGEST_SIDE / Math.max(width, height));
  const image = new Image();
  image.addEventListener("error", onFailure);
  image.addEventListener("load", () => {
    const canvas = make("canvas");
    [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => {
      if (blob === null) onFailure();
      else download("outpoint-graph.png", [blob], "image/png");
    });
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

// Spreadsheets take a text that begins with one of = + - @ for a formula; an apostrophe prevents it.
function csvCell(value) {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function saveCsv(header, rows) {
  const text = [header, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
  download("outpoint-edges.csv", [text], "text/csv;charset=utf-8");
}
