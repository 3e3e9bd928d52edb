// Numbers, words and small elements. Text from the data is only ever set as text.

function probability(value) {
  if (value > 0 && value < 0.0005) return "<0.001";
  if (value < 1 && value > 0.9995) return ">0.999";
  return value.toFixed(3);
}

function twoDigits(value) {
  if (value > 0 && value < 0.005) return "<0.01";
  if (value < 1 && value > 0.995) return ">0.99";
  return Math.min(1, value).toFixed(2);
}

function count(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function svgBar(value) {
  const svg = d3.create("svg").attr("class", "bar").attr("aria-hidden", "true").attr("viewBox", "0 0 64 8");
  svg.append("rect").attr("class", "trough").attr("width", 64).attr("height", 8).attr("rx", 2);
  svg.append("rect").attr("width", 64 * Math.min(1, value)).attr("height", 8).attr("rx", 2);
  return svg.node();
}
