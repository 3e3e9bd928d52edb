// The graph: positions and curves come with the page; here they are drawn, filtered and explored.

const HEAD = 9;
const CERTAIN = 0.75;

function makeGraph(payload, onChoose) {
  const { names, graph } = payload;
  const [width, height] = graph.size;
  const margin = 14;
  const svg = d3.select("#drawing")
    .attr("viewBox", `${-margin} 0 ${width + 2 * margin} ${height}`)
    .attr("preserveAspectRatio", "xMidYMid meet")
    .style("max-height", `min(${Math.round(1.4 * height)}px, max(360px, 80vh))`);
  const world = svg.append("g");
  const edgeLayer = world.append("g");
  const nodeLayer = world.append("g");
  const tip = document.getElementById("tip");
  let chosen = null;
  let view = "dag";
  let threshold = 0.5;

  // Scrolling the page must not zoom: the wheel needs Ctrl, touch needs two fingers.
  const corners = [[-margin, 0], [width + margin, height]];
  const zoom = d3.zoom().scaleExtent([1, 60]).extent(corners).translateExtent(corners).filter(() => {
    const event = d3.event;
    if (event.type === "wheel") return event.ctrlKey || event.metaKey;
    if (event.touches) return event.touches.length > 1;
    return !event.button;
  }).on("zoom", () => world.attr("transform", d3.event.transform));
  svg.call(zoom).on("dblclick.zoom", null);
  d3.select("#zoom-in").on("click", () => zoom.scaleBy(svg, 1.5));
  d3.select("#zoom-out").on("click", () => zoom.scaleBy(svg, 1 / 1.5));
  d3.select("#zoom-all").on("click", () => zoom.transform(svg, d3.zoomIdentity));

  const nodes = nodeLayer.selectAll("g").data(graph.order).enter().append("g")
    .attr("class", "node")
    .attr("role", "button")
    .attr("tabindex", (node, place) => (place === 0 ? 0 : -1))
    .attr("aria-pressed", "false")
    .attr("aria-label", (node) => names[node])
    .attr("data-node", (node) => node)
    .attr("transform", (node) => `translate(${graph.places[node][0]},${graph.places[node][1]})`)
    .on("click", (node) => choose(node === chosen ? null : node))
    .on("focus", (node) => rove(node))
    .on("keydown", (node) => onKey(node));
  nodes.append("title").text((node) => names[node]);
  nodes.append("rect")
    .attr("x", (node) => -graph.places[node][2] / 2)
    .attr("y", -graph.height / 2)
    .attr("width", (node) => graph.places[node][2])
    .attr("height", graph.height)
    .attr("rx", 9);
  nodes.append("text").text((node) => graph.labels[node]);

  // Bring a node into view, large enough to read its label.
  function reveal(node) {
    const [x, y] = graph.places[node];
    const { k, x: left, y: top } = d3.zoomTransform(svg.node());
    const matrix = svg.node().getScreenCTM();
    const scale = matrix ? matrix.a : 1;
    const [px, py] = [k * x + left, k * y + top];
    const inside = px > -margin && px < width + margin && py > 0 && py < height;
    if (scale * k < 0.7) zoom.scaleTo(svg, 0.9 / scale);
    if (scale * k < 0.7 || !inside) zoom.translateTo(svg, x, y);
  }

  function rove(node) {
    nodes.attr("tabindex", (other) => (other === node ? 0 : -1));
  }

  function onKey(node) {
    const event = d3.event;
    const key = event.key;
    if (key === "Enter" || key === " ") {
      event.preventDefault();
      choose(node === chosen ? null : node);
    } else if (key === "Escape") {
      choose(null);
    } else if (key === "Home" || key === "End") {
      event.preventDefault();
      focusNode(graph.order[key === "Home" ? 0 : graph.order.length - 1]);
    } else if (key.startsWith("Arrow")) {
      event.preventDefault();
      focusNode(nearest(node, key));
    }
  }

  function focusNode(node) {
    nodes.filter((other) => other === node).node().focus({ preventScroll: true });
    reveal(node);
  }

  // The closest node in the direction of the key; distance to the side counts double.
  function nearest(node, key) {
    const [x, y] = graph.places[node];
    const across = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    let best = node;
    let least = Infinity;
    graph.order.forEach((other) => {
      const dx = graph.places[other][0] - x;
      const dy = graph.places[other][1] - y;
      const ahead = sign * (across ? dx : dy);
      const aside = Math.abs(across ? dy : dx);
      const distance = ahead + 2 * aside;
      if (ahead > 1 && distance < least) [best, least] = [other, distance];
    });
    return best;
  }

  // Which way a connection points, and whether that is known.
  function direction(pair) {
    const half = pair.reversible / 2;
    const down = view === "dag" ? pair.down : pair.compelled_down + half;
    const up = view === "dag" ? pair.up : pair.compelled_up + half;
    const share = down + up > 0 ? down / (down + up) : 0.5;
    const known = Math.max(share, 1 - share) >= CERTAIN;
    return { downwards: share >= 0.5, known, arrow: known || view === "dag" };
  }

  function curvePath(pair) {
    const points = pair.curve.map((point) => point.slice());
    const way = direction(pair);
    let head = null;
    if (way.arrow) {
      const [end, back] = way.downwards ? [points.length - 1, points.length - 2] : [0, 1];
      const [x, y] = points[end];
      const down = Math.sign(y - points[back][1]);
      head = `M${x} ${y}L${x - HEAD / 2} ${y - down * HEAD}L${x + HEAD / 2} ${y - down * HEAD}Z`;
      points[end][1] -= down * HEAD * 0.8;
    }
    const line = `M${points[0].join(" ")}C${points.slice(1).map((point) => point.join(" ")).join(",")}`;
    return { line, head, known: way.known };
  }

  function update() {
    const shown = graph.pairs.filter((pair) => pair.down + pair.up >= threshold - 1e-9)
      .sort((a, b) => a.down + a.up - b.down - b.up);
    const groups = edgeLayer.selectAll("g.edge").data(shown, (pair) => `${pair.upper}-${pair.lower}`);
    groups.exit().remove();
    const fresh = groups.enter().append("g").attr("class", "edge")
      .attr("data-pair", (pair) => `${pair.upper}-${pair.lower}`)
      .on("mouseenter", showTip).on("mousemove", moveTip).on("mouseleave", hideTip)
      .on("click", (pair) => { showTip(pair); d3.event.stopPropagation(); });
    fresh.append("path").attr("class", "line");
    fresh.append("path").attr("class", "head");
    fresh.append("path").attr("class", "hit");
    const all = fresh.merge(groups).order();
    all.each(function draw(pair) {
      const { line, head, known } = curvePath(pair);
      const strength = Math.min(1, pair.down + pair.up);
      const certainty = known ? "known" : "doubt";
      const group = d3.select(this);
      group.select(".line").attr("d", line).attr("class", `line ${certainty}`)
        .attr("stroke-width", 0.6 + 2.2 * strength).attr("stroke-opacity", 0.25 + 0.75 * strength);
      group.select(".hit").attr("d", line);
      group.select(".head").attr("d", head || "").attr("class", `head ${certainty}`);
    });
    const n = shown.length;
    document.getElementById("count").textContent = `${n} connection${n === 1 ? "" : "s"} shown`;
    mark();
  }

  function mark() {
    const members = new Set();
    if (chosen !== null) {
      payload.nodes[chosen].blanket.forEach(([other, value]) => { if (value >= 0.5) members.add(other); });
    }
    world.classed("choosing", chosen !== null);
    nodes.classed("chosen", (node) => node === chosen)
      .classed("member", (node) => members.has(node))
      .attr("aria-pressed", (node) => String(node === chosen));
    edgeLayer.selectAll("g.edge").classed("own", (pair) => pair.upper === chosen || pair.lower === chosen);
  }

  function choose(node) {
    chosen = node;
    mark();
    onChoose(node);
  }

  function showTip(pair) {
    const rows = [
      [`${names[pair.upper]} → ${names[pair.lower]}`, pair.down],
      [`${names[pair.lower]} → ${names[pair.upper]}`, pair.up],
      ["connected either way", Math.min(1, pair.down + pair.up)],
    ];
    if (view === "cpdag") rows.push(["direction reversible", pair.reversible]);
    tip.replaceChildren(...rows.map(([text, value]) => {
      const row = make("div");
      row.append(make("span", text, "name"), make("span", probability(value), "value"));
      return row;
    }));
    tip.hidden = false;
    moveTip();
  }

  function moveTip() {
    const { clientX, clientY } = d3.event;
    const left = Math.min(clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const above = clientY + 18 + tip.offsetHeight > window.innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above ? clientY - tip.offsetHeight - 12 : clientY + 18}px`;
  }

  function hideTip() {
    tip.hidden = true;
  }

  svg.on("click", hideTip, true);
  return {
    choose,
    reveal,
    setThreshold(value) { threshold = value; update(); },
    setView(value) { view = value; update(); },
  };
}
