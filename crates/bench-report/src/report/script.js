"use strict";
// What a page can do beyond showing: values under the pointer, zoom on time, series switched by
// their legend, sorting, files of figures. Without it the page is whole.
(() => {
  const plots = [...document.querySelectorAll("svg.plot")].map(plotOf);
  const timed = plots.filter((plot) => plot.areas.length > 0);
  const HINT = "Point for values, drag to zoom; keys: arrows, + and -, Esc.";
  let zoom = null; // [from, to] in seconds, of every plot over time
  let cursor = null; // a time in seconds, shown in every plot over time

  function element(name, attributes = {}, text = "") {
    const node = document.createElement(name);
    return finished(node, attributes, text);
  }

  function shape(parent, name, attributes, text = "") {
    const node = document.createElementNS(parent.namespaceURI, name);
    parent.append(finished(node, attributes, text));
    return node;
  }

  function finished(node, attributes, text) {
    for (const [name, value] of Object.entries(attributes)) {
      node.setAttribute(name, value);
    }
    node.textContent = text;
    return node;
  }

  function plotOf(svg) {
    const areas = [...svg.querySelectorAll("svg[data-time]")].map((node) => {
      const [left, top, width, height] = ["x", "y", "width", "height"].map((name) => Number(node.getAttribute(name)));
      const [low, high] = node.dataset.time.split(" ").map(Number);
      const value = node.dataset.value ? node.dataset.value.split(" ").map(Number) : null;
      return { node, left, top, width, height, low, high, value, heading: node.dataset.heading };
    });
    const plot = { svg, areas, output: null, extra: [] };
    const keys = [...svg.querySelectorAll("[data-series]")];
    plot.keys = keys.map((node) => {
      const text = node.querySelector("text");
      const y = Number(text.getAttribute("y"));
      const above = (area) => area.value && y < area.top && y > area.top - 19;
      const area = areas.find(above) || (areas.length === 1 ? areas[0] : null);
      return { node, series: node.dataset.series, name: text.textContent, area };
    });
    return plot;
  }

  // Legends.
  for (const plot of plots) {
    const title = plot.svg.querySelector("title").textContent;
    plot.svg.setAttribute("role", "group");
    plot.svg.setAttribute("aria-label", title);
    for (const key of plot.keys.filter((key) => /^([a-h]|second)$/.test(key.series))) {
      const scope = key.area ? key.area.node : plot.svg;
      const marks = [...scope.querySelectorAll(`.${key.series}, .${key.series}-fill`)]
        .filter((mark) => !mark.closest("[data-series]"));
      if (marks.length === 0) {
        continue;
      }
      const toggle = () => {
        const isOff = key.node.classList.toggle("off");
        marks.forEach((mark) => mark.classList.toggle("hidden", isOff));
        key.node.setAttribute("aria-pressed", String(!isOff));
        showValues();
      };
      finished(shape(key.node, "title", {}), {}, `show or hide ${key.name}`);
      const button = { role: "button", tabindex: "0", "aria-pressed": "true", "aria-label": key.name };
      for (const [name, value] of Object.entries(button)) {
        key.node.setAttribute(name, value);
      }
      key.node.addEventListener("click", toggle);
      key.node.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          event.stopPropagation();
          toggle();
        }
      });
    }
  }

  // Values under the pointer.
  function points(path) {
    if (!path.points) {
      const numbers = path.getAttribute("d").slice(1).split(" ").map(Number);
      path.points = [];
      for (let at = 0; at + 1 < numbers.length; at += 2) {
        path.points.push([numbers[at], numbers[at + 1]]);
      }
    }
    return path.points;
  }

  // The line's nearest point, where it has one not far away.
  function heightAt(paths, x, width) {
    let best = null;
    for (const [px, py] of paths.flatMap(points)) {
      const distance = Math.abs(px - x);
      if (distance <= width / 40 && (best === null || distance < best.distance)) {
        best = { distance, py };
      }
    }
    return best && best.py;
  }

  // As many digits as a hundredth of a unit of the drawing has.
  function shown(area, y) {
    const [low, high] = area.value;
    const height = area.height - 2;
    const value = low + (1 - (y - 1) / height) * (high - low);
    const step = (high - low) / height / 100;
    const digits = Math.max(0, Math.min(6, Math.floor(-Math.log10(step))));
    return value.toFixed(digits);
  }

  function linesOf(plot, area) {
    const lines = new Map();
    for (const path of area.node.querySelectorAll("path")) {
      if (path.matches(".thin, .cursor, .grid") || getComputedStyle(path).display === "none") {
        continue;
      }
      const series = path.getAttribute("class").split(" ").find((name) => /^([a-h]|second|none)$/.test(name));
      const line = path.matches(".switched") ? `${series} in order` : series;
      lines.set(line, [...(lines.get(line) || []), path]);
    }
    return lines;
  }

  function nameOf(plot, area, line) {
    const [series, ...more] = line.split(" ");
    const key = plot.keys.find((key) => key.series === series && key.area === area);
    return [key ? key.name : "", ...more].join(" ").trim();
  }

  function valuesAt(plot, area, time) {
    const x = (time - area.low) / (area.high - area.low) * area.width;
    if (!area.value) {
      const state = [...area.node.querySelectorAll("rect")].find((rect) => {
        const left = Number(rect.getAttribute("x"));
        return x >= left && x < left + Number(rect.getAttribute("width"));
      });
      const key = state && plot.keys.find((key) => key.series === state.getAttribute("class"));
      return key ? [key.name] : [];
    }
    const values = [];
    for (const [line, paths] of linesOf(plot, area)) {
      const y = heightAt(paths, x, area.width);
      if (y !== null) {
        values.push(`${nameOf(plot, area, line)} ${shown(area, y)}`.trim());
      }
    }
    for (const bar of area.node.querySelectorAll("rect.loss")) {
      const left = Number(bar.getAttribute("x"));
      if (x >= left && x < left + Number(bar.getAttribute("width"))) {
        values.push(shown(area, Number(bar.getAttribute("y"))));
      }
    }
    return values.length > 0 ? [`${area.heading}: ${values.join(", ")}`] : [];
  }

  function showValues() {
    for (const plot of timed) {
      plot.svg.querySelectorAll(".cursor").forEach((line) => line.remove());
      if (cursor === null) {
        plot.output.textContent = HINT;
        continue;
      }
      for (const area of plot.areas.filter((area) => area.value)) {
        const x = (cursor - area.low) / (area.high - area.low) * area.width;
        shape(area.node, "path", { class: "cursor", d: `M${x} 0 ${x} ${area.height}` });
      }
      const values = plot.areas.flatMap((area) => valuesAt(plot, area, cursor));
      plot.output.textContent = [`${cursor.toFixed(2)} s`, ...values].join(" · ");
    }
  }

  // Zoom, of all plots over time alike.
  function range(plot) {
    return zoom || [plot.areas[0].low, plot.areas[0].high];
  }

  function showZoom() {
    for (const plot of timed) {
      plot.extra.forEach((node) => node.remove());
      plot.extra = [];
      plot.svg.classList.toggle("zoomed", zoom !== null);
      plot.reset.hidden = zoom === null;
      for (const area of plot.areas) {
        if (zoom === null) {
          area.node.removeAttribute("viewBox");
          continue;
        }
        const scale = area.width / (area.high - area.low);
        const left = (zoom[0] - area.low) * scale;
        const width = (zoom[1] - zoom[0]) * scale;
        area.node.setAttribute("viewBox", `${left} 0 ${width} ${area.height}`);
        area.node.setAttribute("preserveAspectRatio", "none");
      }
      if (zoom !== null) {
        ticks(plot);
      }
    }
    showValues();
  }

  function ticks(plot) {
    const [from, to] = zoom;
    const rough = (to - from) / 6;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => power * factor >= rough);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const panels = plot.areas.filter((area) => area.value);
    const last = panels[panels.length - 1];
    for (let tick = Math.ceil(from / step); tick * step <= to; tick += 1) {
      const x = last.left + (tick * step - from) / (to - from) * last.width;
      for (const area of panels) {
        const d = `M${x} ${area.top} ${x} ${area.top + area.height}`;
        const line = shape(plot.svg, "path", { class: "grid", d });
        plot.svg.insertBefore(line, plot.svg.firstChild.nextSibling);
        plot.extra.push(line);
      }
      const label = { class: "label middle", x, y: last.top + last.height + 13 };
      plot.extra.push(shape(plot.svg, "text", label, (tick * step).toFixed(digits)));
    }
  }

  function zoomTo(plot, from, to) {
    const { low, high } = plot.areas[0];
    const least = (high - low) / 200;
    if (to - from < least) {
      [from, to] = [(from + to - least) / 2, (from + to + least) / 2];
    }
    [from, to] = [Math.max(low, from), Math.min(high, to)];
    zoom = to - from >= (high - low) * 0.999 ? null : [from, to];
    showZoom();
  }

  function timeAt(plot, event) {
    const box = plot.svg.getBoundingClientRect();
    const area = plot.areas[0];
    const x = (event.clientX - box.left) / box.width * plot.svg.viewBox.baseVal.width;
    const part = Math.max(0, Math.min(1, (x - area.left) / area.width));
    const [from, to] = range(plot);
    return from + part * (to - from);
  }

  for (const plot of timed) {
    plot.output = element("output", { class: "values", id: `values-${timed.indexOf(plot)}` });
    plot.reset = element("button", { type: "button", class: "tool" }, "Reset zoom");
    plot.reset.hidden = true;
    plot.reset.addEventListener("click", () => { zoom = null; showZoom(); });
    plot.svg.after(plot.output, plot.reset);
    plot.svg.setAttribute("tabindex", "0");
    plot.svg.setAttribute("aria-describedby", plot.output.id);
    let pressed = null;
    let selection = null;
    const unselect = () => {
      pressed = null;
      selection?.remove();
      selection = null;
    };
    plot.svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch" && event.button === 0 && !event.target.closest("[data-series]")) {
        pressed = { x: event.clientX, time: timeAt(plot, event) };
        plot.svg.setPointerCapture(event.pointerId);
      }
    });
    plot.svg.addEventListener("pointermove", (event) => {
      cursor = timeAt(plot, event);
      if (pressed && Math.abs(event.clientX - pressed.x) > 4) {
        selection?.remove();
        const [from, to] = range(plot);
        const { left, width, top } = plot.areas[0];
        const last = plot.areas[plot.areas.length - 1];
        const ends = [pressed.time, cursor].map((time) => left + (time - from) / (to - from) * width);
        const [low, high] = [Math.min(...ends), Math.max(...ends)];
        selection = shape(plot.svg, "rect",
          { class: "selection", x: low, y: top, width: high - low, height: last.top + last.height - top });
      }
      showValues();
    });
    plot.svg.addEventListener("pointerup", (event) => {
      const [begin, end] = [pressed, timeAt(plot, event)];
      const isDrag = begin && Math.abs(event.clientX - begin.x) > 4;
      unselect();
      if (isDrag) {
        zoomTo(plot, Math.min(begin.time, end), Math.max(begin.time, end));
      }
    });
    plot.svg.addEventListener("pointercancel", unselect);
    plot.svg.addEventListener("pointerleave", () => { cursor = null; showValues(); });
    plot.svg.addEventListener("dblclick", () => { zoom = null; showZoom(); });
    plot.svg.addEventListener("blur", () => plot.output.setAttribute("aria-live", "off"));
    plot.svg.addEventListener("focus", () => plot.output.setAttribute("aria-live", "polite"));
    plot.svg.addEventListener("keydown", (event) => {
      const [from, to] = range(plot);
      const at = cursor === null ? (from + to) / 2 : cursor;
      const moves = { ArrowLeft: -0.02, ArrowRight: 0.02 };
      if (event.key in moves) {
        cursor = Math.max(from, Math.min(to, at + moves[event.key] * (to - from)));
        showValues();
      } else if (event.key === "+" || event.key === "-") {
        const half = (to - from) * (event.key === "+" ? 0.25 : 1);
        zoomTo(plot, at - half, at + half);
      } else if (event.key === "Escape") {
        [zoom, cursor] = [null, null];
        showZoom();
      } else {
        return;
      }
      event.preventDefault();
    });
  }
  showZoom();

  // Tables.
  for (const table of document.querySelectorAll("table.rounds, table.ranked, table.saved")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = element("button", { type: "button", class: "sort" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const isUp = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
        const body = table.tBodies[0];
        const keyed = [...body.rows].map((row) => [row.cells[column].textContent.trim(), row]);
        keyed.sort(([a], [b]) => {
          const [x, y] = [parseFloat(a), parseFloat(b)];
          const isWord = Number.isNaN(x) || Number.isNaN(y);
          const order = isWord ? Number.isNaN(x) - Number.isNaN(y) || a.localeCompare(b) : x - y;
          return isUp ? order : -order;
        });
        body.append(...keyed.map(([, row]) => row));
      });
    });
  }

  // What is wider than the screen scrolls by keys as well, and says what it is.
  for (const box of document.querySelectorAll(".scroll")) {
    const caption = box.querySelector("caption");
    const mark = () => {
      const isWide = box.scrollWidth > box.clientWidth;
      const marks = { tabindex: "0", role: "region", "aria-label": caption ? caption.textContent : "Table" };
      for (const [name, value] of Object.entries(marks)) {
        isWide ? box.setAttribute(name, value) : box.removeAttribute(name);
      }
    };
    mark();
    addEventListener("resize", mark);
  }

  // Files and the command.
  const tools = element("p", { class: "tools" });
  const tool = (name, act) => {
    const button = element("button", { type: "button", class: "tool" }, name);
    button.addEventListener("click", () => act(button));
    tools.append(button);
  };
  const command = document.querySelector("code.command");
  if (command) {
    tool("Copy the command", (button) => {
      getSelection().selectAllChildren(command);
      const isCopied = document.execCommand("copy");
      button.textContent = isCopied ? "Copied" : "Selected: press Ctrl-C";
    });
  }
  const data = JSON.parse(document.getElementById("data")?.textContent || "{}");
  const field = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  for (const [name, table] of Object.entries(data)) {
    tool(`Save ${name} as CSV`, () => {
      const lines = [table.columns, ...table.rows].map((row) => row.map(field).join(",") + "\n");
      const link = element("a", { download: `${name}.csv` });
      link.href = URL.createObjectURL(new Blob(lines, { type: "text/csv" }));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
  if (tools.childNodes.length > 0) {
    document.querySelector("header").append(tools);
  }
})();
