// The graph: scenes come with the page; here they are drawn, filtered and explored.

const HEAD = 9;
const CERTAIN = 0.75;
const MARGIN = 16;
const LARGEST_SCALE = 1.4;
const COMFORTABLE_SCALE = 0.85;
const READABLE_SCALE = 0.66;
const SMALLEST_SCALE = 0.52;
const NUMBER_PLACES = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74];

// The connections of a scene, each with its curve and the probabilities both ways along it.
function readLines(payload, scene, squeeze) {
  return scene.lines.map(([number, turned, numbers]) => {
    const [first, second, forward, backward, compelledForward, compelledBackward, reversible] = payload.graph.pairs[number];
    const curve = d3.range(0, numbers.length, 2).map((i) => [numbers[i] / squeeze, numbers[i + 1]]);
    return {
      key: `${turned ? second : first}-${turned ? first : second}`,
      upper: turned ? second : first,
      lower: turned ? first : second,
      down: turned ? backward : forward,
      up: turned ? forward : backward,
      compelledDown: turned ? compelledBackward : compelledForward,
      compelledUp: turned ? compelledForward : compelledBackward,
      reversible,
      curve,
    };
  });
}

function makeGraph(payload, onChange) {
  const { names, graph } = payload;
  const state = { chosen: null, around: false, view: "dag", threshold: graph.threshold, dag: null, numbers: false };
  const svg = d3.select("#drawing").attr("preserveAspectRatio", "xMidYMid meet");
  const world = svg.append("g");
  const edgeLayer = world.append("g");
  const nodeLayer = world.append("g");
  const labelLayer = world.append("g");
  const tip = document.getElementById("tip");
  let places = new Map();
  let lines = [];
  let order = [];
  let corners = [[0, 0], [1, 1]];
  let nodes = nodeLayer.selectAll("g");

  // Scrolling the page must not zoom: the wheel needs Ctrl, touch needs two fingers. By itself D3 takes
  // Ctrl for the sign of a pinch, and would zoom ten times as fast.
  const zoom = d3.zoom().scaleExtent([1, 60]).filter((event) => {
    if (event.type === "wheel") return event.ctrlKey || event.metaKey;
    if (event.touches) return event.touches.length > 1;
    return !event.button;
  }).wheelDelta((event) => -event.deltaY * (event.deltaMode ? 0.24 : 0.002))
    .on("zoom", ({ transform }) => world.attr("transform", transform));
  svg.call(zoom).on("dblclick.zoom", null);
  d3.select("#zoom-in").on("click", () => zoom.scaleBy(svg, 1.5));
  d3.select("#zoom-out").on("click", () => zoom.scaleBy(svg, 1 / 1.5));
  d3.select("#zoom-all").on("click", () => zoom.transform(svg, d3.zoomIdentity));

  function setScene() {
    const scene = state.around ? graph.around[state.chosen] : graph.whole;
    const squeeze = squeezeOf(scene);
    places = new Map(scene.nodes.map((node, i) => [node, [scene.places[i][0] / squeeze, ...scene.places[i].slice(1)]]));
    lines = readLines(payload, scene, squeeze);
    order = scene.order;
    const [left, top, right, bottom] = boxOf();
    const [width, height] = [right - left + 2 * MARGIN, bottom - top + 2 * MARGIN];
    corners = [[left - MARGIN, top - MARGIN], [right + MARGIN, bottom + MARGIN]];
    const element = svg.attr("viewBox", `${corners[0].join(" ")} ${width} ${height}`).node();
    element.style.setProperty("--smallest", `${Math.round(SMALLEST_SCALE * width)}px`);
    element.style.setProperty("--largest", `${Math.round(LARGEST_SCALE * height)}px`);
    element.style.setProperty("--comfortable", `${graph.legible || state.around ? Math.round(COMFORTABLE_SCALE * height) : 0}px`);
    zoom.extent(corners).translateExtent(corners).transform(svg, d3.zoomIdentity);
    drawNodes();
    update();
  }

  // By how much the scene is made narrower to be read where there is little room.
  function squeezeOf(scene) {
    const wide = Math.max(...scene.places.map(([x, , width]) => x + width / 2)) + 2 * MARGIN;
    const room = svg.node().parentNode.clientWidth || wide;
    return Math.max(1, Math.min(scene.stretch, (wide * COMFORTABLE_SCALE) / room));
  }

  // What holds everything: a curve stays within its control points.
  function boxOf() {
    const points = lines.flatMap((line) => line.curve);
    places.forEach(([x, y, width]) => {
      points.push([x - width / 2, y - graph.height / 2], [x + width / 2, y + graph.height / 2]);
    });
    const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
    return [d3.min(xs), d3.min(ys), d3.max(xs), d3.max(ys)];
  }

  function drawNodes() {
    nodeLayer.selectAll("g").remove();
    nodes = nodeLayer.selectAll("g").data(order).enter().append("g")
      .attr("class", "node")
      .attr("role", "button")
      .attr("tabindex", (node, place) => (place === 0 ? 0 : -1))
      .attr("aria-label", (node) => names[node])
      .attr("data-node", (node) => node)
      .attr("transform", (node) => `translate(${places.get(node)[0]},${places.get(node)[1]})`)
      .on("click", (event, node) => choose(node === state.chosen ? null : node))
      .on("focus", (event, node) => rove(node))
      .on("keydown", onKey);
    nodes.append("title").text((node) => names[node]);
    nodes.append("rect")
      .attr("x", (node) => -places.get(node)[2] / 2)
      .attr("y", -graph.height / 2)
      .attr("width", (node) => places.get(node)[2])
      .attr("height", graph.height)
      .attr("rx", 9);
    nodes.append("text").attr("dy", "0.35em").text((node) => graph.labels[node]);
  }

  // Bring a node into view, large enough to read its label.
  function reveal(node) {
    const [x, y] = places.get(node);
    const { k, x: left, y: top } = d3.zoomTransform(svg.node());
    const matrix = svg.node().getScreenCTM();
    const scale = matrix ? matrix.a : 1;
    const [px, py] = [k * x + left, k * y + top];
    const inside = px > corners[0][0] && px < corners[1][0] && py > corners[0][1] && py < corners[1][1];
    const small = scale * k < READABLE_SCALE - 0.02;
    if (small) zoom.scaleTo(svg, 0.9 / scale);
    if (small || !inside) zoom.translateTo(svg, x, y);
    const pan = svg.node().parentNode;
    if (pan.scrollWidth > pan.clientWidth) {
      const box = nodes.filter((other) => other === node).node().getBoundingClientRect();
      const frame = pan.getBoundingClientRect();
      pan.scrollLeft += (box.left + box.right - frame.left - frame.right) / 2;
    }
  }

  function rove(node) {
    nodes.attr("tabindex", (other) => (other === node ? 0 : -1));
  }

  function onKey(event, node) {
    const key = event.key;
    if (key === "Enter" || key === " ") {
      event.preventDefault();
      choose(node === state.chosen ? null : node);
      focusNode(node);
    } else if (key === "Escape") {
      choose(null);
      focusNode(node);
    } else if (key === "Home" || key === "End") {
      event.preventDefault();
      focusNode(order[key === "Home" ? 0 : order.length - 1]);
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
    const [x, y] = places.get(node);
    const across = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    let best = node;
    let least = Infinity;
    order.forEach((other) => {
      const dx = places.get(other)[0] - x;
      const dy = places.get(other)[1] - y;
      const ahead = sign * (across ? dx : dy);
      const aside = Math.abs(across ? dy : dx);
      const distance = ahead + 2 * aside;
      if (ahead > 1 && distance < least) [best, least] = [other, distance];
    });
    return best;
  }

  // What is drawn: all probable connections, or the edges of one DAG.
  function shownLines() {
    if (state.dag === null) return lines.filter((line) => line.down + line.up >= state.threshold - 1e-9);
    const edges = new Set(payload.dags[state.dag].map(([parent, child]) => `${parent}-${child}`));
    return lines.filter((line) => edges.has(line.key) || edges.has(`${line.lower}-${line.upper}`))
      .map((line) => ({ ...line, inDag: edges.has(line.key) ? "down" : "up" }));
  }

  // Which way a connection points, and whether that is known.
  function direction(line) {
    const half = line.reversible / 2;
    const down = state.view === "dag" ? line.down : line.compelledDown + half;
    const up = state.view === "dag" ? line.up : line.compelledUp + half;
    const share = down + up > 0 ? down / (down + up) : 0.5;
    const known = Math.max(share, 1 - share) >= CERTAIN;
    if (line.inDag) {
      const downwards = line.inDag === "down";
      return { downwards, known: known && downwards === share >= 0.5, arrow: true };
    }
    return { downwards: share >= 0.5, known, arrow: known || state.view === "dag" };
  }

  function curvePath(line, way) {
    const points = line.curve.map((point) => point.slice());
    let head = null;
    if (way.arrow) {
      const [end, back] = way.downwards ? [points.length - 1, points.length - 2] : [0, 1];
      const [x, y] = points[end];
      const down = Math.sign(y - points[back][1]);
      head = `M${x} ${y}L${x - HEAD / 2} ${y - down * HEAD}L${x + HEAD / 2} ${y - down * HEAD}Z`;
      points[end][1] -= down * HEAD * 0.8;
    }
    return { path: `M${points[0].join(" ")}C${points.slice(1).map((point) => point.join(" ")).join(",")}`, head };
  }

  // The probability of what is drawn; of both directions where the direction is in doubt.
  function numberOn(line, way) {
    const [along, against] = way.downwards ? [line.down, line.up] : [line.up, line.down];
    if (!way.arrow) return twoDigits(line.down + line.up);
    return way.known ? twoDigits(along) : `${twoDigits(along)} / ${twoDigits(against)}`;
  }

  // A place on the line, near its middle, that is free of nodes and of other numbers.
  function placeNumber(line, path, text, written) {
    const wide = 3.2 * text.length;
    const isFree = ({ x, y }) => written.every((other) => Math.abs(other.y - y) > 12 || Math.abs(other.x - x) > wide + other.wide)
      && [...places.values()].every((place) => Math.abs(place[1] - y) > graph.height / 2 + 6 || Math.abs(place[0] - x) > wide + place[2] / 2);
    const points = NUMBER_PLACES.map((share) => path.getPointAtLength(share * path.getTotalLength()));
    const { x, y } = points.find(isFree) || points[0];
    return { line, x, y, wide, text };
  }

  function update() {
    hideTip();
    const shown = shownLines().sort((a, b) => a.down + a.up - b.down - b.up);
    const groups = edgeLayer.selectAll("g.edge").data(shown, (line) => line.key);
    groups.exit().remove();
    const fresh = groups.enter().append("g").attr("class", "edge")
      .attr("data-pair", (line) => line.key)
      .on("mouseenter", showTip).on("mousemove", moveTip).on("mouseleave", hideTip)
      .on("click", (event, line) => { showTip(event, line); event.stopPropagation(); });
    fresh.append("path").attr("class", "line");
    fresh.append("path").attr("class", "head");
    fresh.append("path").attr("class", "hit");
    const all = fresh.merge(groups).order();
    const written = [];
    all.each(function draw(line) {
      const way = direction(line);
      const { path, head } = curvePath(line, way);
      const strength = line.inDag ? 1 : Math.min(1, line.down + line.up);
      const certainty = way.known ? "known" : "doubt";
      const group = d3.select(this);
      group.select(".line").attr("d", path).attr("class", `line ${certainty}`)
        .attr("stroke-width", 0.6 + 2.2 * strength).attr("stroke-opacity", 0.25 + 0.75 * strength);
      const hit = group.select(".hit").attr("d", path).node();
      group.select(".head").attr("d", head || "").attr("class", `head ${certainty}`);
      if (state.numbers) written.push(placeNumber(line, hit, numberOn(line, way), written));
    });
    labelLayer.selectAll("text").remove();
    labelLayer.selectAll("text").data(written).enter().append("text")
      .attr("class", "number-on-line").attr("dy", "0.35em")
      .attr("x", (label) => label.x).attr("y", (label) => label.y).text((label) => label.text);
    mark(shown);
    onChange(state, shown.length, order.length);
  }

  function mark(shown) {
    const { chosen } = state;
    const own = (line) => line.upper === chosen || line.lower === chosen;
    const members = new Set();
    if (chosen !== null) {
      payload.nodes[chosen].blanket.forEach(([other, value]) => { if (value >= 0.5) members.add(other); });
    }
    const connected = new Set(shown.flatMap((line) => [line.upper, line.lower]));
    world.classed("choosing", chosen !== null && !state.around);
    nodes.classed("chosen", (node) => node === chosen)
      .classed("member", (node) => members.has(node))
      .classed("loose", (node) => state.around && node !== chosen && !connected.has(node))
      .attr("aria-pressed", (node) => String(node === chosen));
    edgeLayer.selectAll("g.edge").classed("own", own);
    labelLayer.selectAll("text").classed("own", (label) => own(label.line));
  }

  function choose(node) {
    const another = state.around;
    state.chosen = node;
    if (node === null) state.around = false;
    if (another) setScene();
    else update();
  }

  function setAround(around) {
    state.around = around;
    if (around && state.chosen === null) state.chosen = graph.hub;
    setScene();
  }

  function showTip(event, line) {
    const rows = [
      [`${names[line.upper]} → ${names[line.lower]}`, line.down],
      [`${names[line.lower]} → ${names[line.upper]}`, line.up],
      ["connected either way", Math.min(1, line.down + line.up)],
    ];
    if (state.view === "cpdag") rows.push(["direction reversible", line.reversible]);
    tip.replaceChildren(...rows.map(([text, value]) => {
      const row = make("div");
      row.append(make("span", text, "name"), make("span", probability(value), "value"));
      return row;
    }));
    tip.hidden = false;
    moveTip(event);
  }

  function moveTip({ clientX, clientY }) {
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
    setAround,
    start() { if (graph.legible) setScene(); else setAround(true); },
    set(name, value) { state[name] = value; update(); },
  };
}
