// The page around the simulator: reads the controls, asks the simulator, shows its answers.

const NAMES = "abcdefgh";
const DEFAULTS = {
  link: "rate 20mbit delay 40ms loss 1% queue 1bdp",
  back: "",
  flows: [["paceline", 0], ["cubic", 0]],
  seed: 1,
  changes: [],
  speed: "1",
  until: 60,
};

// ── The simulator ────────────────────────────────────────────────────────────────────────────

async function load() {
  const { instance } = await WebAssembly.instantiateStreaming(fetch("playground.wasm"), {});
  const { memory, buffer, ask, answer_at: answerAt } = instance.exports;
  return (request) => {
    const text = new TextEncoder().encode(JSON.stringify(request));
    const at = buffer(text.length);
    new Uint8Array(memory.buffer, at, text.length).set(text);
    const length = ask();
    const answer = new Uint8Array(memory.buffer, answerAt(), length);
    return JSON.parse(new TextDecoder().decode(answer));
  };
}

// ── The address ──────────────────────────────────────────────────────────────────────────────

function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  const flows = words.getAll("flow").map((flow) => {
    const at = flow.lastIndexOf("@");
    return at < 0 ? [flow, 0] : [flow.slice(0, at), Number(flow.slice(at + 1))];
  });
  const changes = words.getAll("change").map((change) => {
    const space = change.indexOf(" ");
    return { at: Number(change.slice(0, space)), link: change.slice(space + 1) };
  });
  return {
    link: words.get("link") ?? DEFAULTS.link,
    back: words.get("back") ?? DEFAULTS.back,
    flows: flows.length > 0 ? flows : DEFAULTS.flows,
    seed: Number(words.get("seed") ?? DEFAULTS.seed),
    changes,
    speed: words.get("speed") ?? DEFAULTS.speed,
    until: Number(words.get("until") ?? DEFAULTS.until),
  };
}

function writeAddress(setup, speed, until) {
  const words = new URLSearchParams({ link: setup.link, back: setup.return_link, seed: setup.seed, speed, until });
  for (const flow of setup.flows) words.append("flow", `${flow.controller}@${flow.start}`);
  for (const change of setup.changes) words.append("change", `${change.at} ${change.link}`);
  history.replaceState(null, "", `#${words}`);
}

// ── Sliders, most of them logarithmic ────────────────────────────────────────────────────────

const logarithmic = (low, high) => ({
  value: (position) => low * (high / low) ** (position / 1000),
  position: (value) => 1000 * Math.log(value / low) / Math.log(high / low),
});
const SLIDERS = {
  rate: { ...logarithmic(0.5, 200), show: (v) => `${v.toPrecision(3)} Mbit/s` },
  rtt: { ...logarithmic(2, 600), show: (v) => `${v.toPrecision(3)} ms` },
  loss: {
    value: (position) => 20 * (position / 1000) ** 2,
    position: (value) => 1000 * Math.sqrt(value / 20),
    show: (v) => `${v.toPrecision(2)} %`,
  },
  buffer: { ...logarithmic(0.1, 10), show: (v) => `${v.toPrecision(2)} BDP` },
};

const $ = (id) => document.getElementById(id);

/** The link's words with what the slider `name` says; all other words stay. */
function reworded(link, name) {
  const value = SLIDERS[name].value(Number($(name).value));
  const [pattern, word] = {
    rate: [/\brate [\d.]+(kbit|mbit|gbit)\b/, `rate ${Math.round(value * 1000)}kbit`],
    rtt: [/\bdelay [\d.]+(us|ms|s)\b/, `delay ${Number(value.toPrecision(3))}ms`],
    loss: [/\bloss [\d.]+%/, `loss ${Number(value.toPrecision(2))}%`],
    buffer: [/\bqueue [\d.]+bdp\b/, `queue ${Number(value.toPrecision(2))}bdp`],
  }[name];
  return pattern.test(link) ? link.replace(pattern, word) : `${link} ${word}`.trim();
}

const TIMES = { s: 1e3, ms: 1, us: 1e-3 };
const RATES = { kbit: 1e-3, mbit: 1, gbit: 1e3 };

/** Puts the sliders where the words are, as far as those have them. */
function place(link) {
  const number = (pattern, units) => {
    const found = link.match(pattern);
    return found ? Number(found[1]) * (units ? units[found[2]] : 1) : undefined;
  };
  const values = {
    rate: number(/rate ([\d.]+)(kbit|mbit|gbit)\b/, RATES),
    rtt: number(/delay ([\d.]+)(us|ms|s)\b/, TIMES),
    loss: number(/loss ([\d.]+)%/) ?? 0,
    buffer: number(/queue ([\d.]+)bdp/),
  };
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) $(name).value = Math.max(0, Math.min(1000, SLIDERS[name].position(value)));
    label(name);
  }
}

function label(name) {
  const text = SLIDERS[name].show(SLIDERS[name].value(Number($(name).value)));
  $(`${name}-text`).value = text;
  $(name).setAttribute("aria-valuetext", text);
}

// ── Flows ────────────────────────────────────────────────────────────────────────────────────

function addFlow(controllers, [controller, start], changed) {
  const row = document.createElement("li");
  const chip = document.createElement("span");
  const which = document.createElement("input");
  const when = document.createElement("input");
  const remove = document.createElement("button");
  which.type = "text";
  which.value = controller;
  which.spellcheck = false;
  which.setAttribute("list", controllers);
  which.setAttribute("aria-label", "Controller and its parameters");
  Object.assign(when, { type: "number", min: 0, max: 3600, step: "any", value: start, title: "Start, s" });
  when.setAttribute("aria-label", "Start in seconds");
  remove.type = "button";
  remove.textContent = "✕";
  remove.setAttribute("aria-label", "Remove this flow");
  remove.addEventListener("click", () => {
    if ($("flows").children.length > 1) {
      row.remove();
      changed();
    }
  });
  which.addEventListener("change", changed);
  when.addEventListener("change", changed);
  row.append(chip, which, when, remove);
  $("flows").append(row);
}

function flows() {
  return [...$("flows").children].map((row, index) => {
    const [which, when] = row.querySelectorAll("input");
    row.firstChild.className = `chip chip-${NAMES[index]}`;
    row.firstChild.textContent = NAMES[index];
    return { controller: which.value.trim(), start: Number(when.value) };
  });
}

// ── Showing ──────────────────────────────────────────────────────────────────────────────────

function cells(row, values) {
  for (const [text, isWord] of values) {
    const cell = row.insertCell();
    cell.textContent = text;
    if (isWord) cell.className = "word";
  }
}

const kilobytes = (bytes) => (bytes / 1000).toFixed(1);
const megabits = (rate) => (rate === null ? "–" : (rate / 1e6).toFixed(2));

function showFlows(summaries) {
  const rows = summaries.map((flow, index) => {
    const row = document.createElement("tr");
    cells(row, [
      [`${NAMES[index]} ${flow.controller}`, true],
      [flow.state, true],
      [flow.goodput_mbit.toFixed(2)],
      [flow.srtt_ms === null ? "–" : flow.srtt_ms.toFixed(1)],
      [kilobytes(flow.cwnd)],
      [kilobytes(flow.inflight)],
      [megabits(flow.pacing_rate)],
      [String(flow.lost)],
    ]);
    return row;
  });
  $("summary").tBodies[0].replaceChildren(...rows);
}

const MOST_STEPS = 200;

function showSteps(steps) {
  const body = $("packets").querySelector("tbody");
  const what = (step) => [["sent", "sent"], ["received", "arrived"], ["acked", "acknowledged"], ["lost", "given up"]]
    .filter(([key]) => step[key] > 0)
    .map(([key, word]) => `${step[key]} ${word}`)
    .join(", ");
  for (const step of steps) {
    const row = document.createElement("tr");
    const { after } = step;
    cells(row, [
      [(step.at * 1000).toFixed(3)],
      [`${NAMES[step.flow]} ${after.controller}`, true],
      [what(step), true],
      [after.state, true],
      [kilobytes(after.cwnd)],
      [kilobytes(after.inflight)],
      [megabits(after.pacing_rate)],
    ]);
    body.prepend(row);
  }
  while (body.rows.length > MOST_STEPS) body.lastChild.remove();
}

function showFigures(figures) {
  for (const { name, svg } of figures) {
    const id = `figure-${name}`;
    let place = $(id);
    if (!place) {
      place = document.createElement("figure");
      place.id = id;
      $(name === "states" ? "states" : "figures").append(place);
    }
    // The simulator escapes what a page or an address has said.
    place.innerHTML = svg;
  }
}

function complain(text) {
  $("message").textContent = text;
  $("message").hidden = !text;
}

// ── A run ────────────────────────────────────────────────────────────────────────────────────

class Playground {
  constructor(ask) {
    this.ask = ask;
    this.seconds = 0;
    this.isPlaying = true;
    this.isOver = false;
    /** Wall-clock time and simulated time since the speed was last measured. */
    this.measured = { wall: 0, simulated: 0, factor: 0 };
    this.drawnAt = -Infinity;
  }

  begin(changes = []) {
    const setup = {
      link: $("link").value,
      return_link: $("return-link").value,
      flows: flows(),
      seed: Number($("seed").value),
      changes,
    };
    const answer = this.ask({ open: setup });
    complain(answer.error ?? "");
    if (answer.error) return;
    Object.assign(this, { seconds: 0, isOver: false });
    $("packets").querySelector("tbody").replaceChildren();
    const options = setup.flows.map((flow, index) => new Option(`${NAMES[index]} ${flow.controller}`, index));
    const shown = Math.min($("shown").selectedIndex, options.length - 1);
    $("shown").replaceChildren(...options);
    $("shown").selectedIndex = Math.max(0, shown);
    this.keep();
    this.draw();
  }

  /** Has the address repeat this run. */
  keep() {
    const { setup } = this.ask({ setup: {} });
    if (setup) writeAddress(setup, $("speed").value, $("until").value);
  }

  change(link) {
    const answer = this.ask({ link: { link } });
    complain(answer.error ?? "");
    if (answer.error) return;
    clearTimeout(this.keepLater);
    this.keepLater = setTimeout(() => this.keep(), 300);
  }

  /** Up to `seconds` further, but for at most `budget` ms of this machine's time. */
  advance(seconds, budget) {
    const began = performance.now();
    const end = Math.min(this.seconds + seconds, this.until());
    while (this.seconds < end - 1e-9 && !this.isOver) {
      const { advanced } = this.ask({ advance: { seconds: Math.min(0.05, end - this.seconds) } });
      this.seconds = advanced.seconds;
      this.isOver = !advanced.may_go_on;
      if (performance.now() - began > budget) break;
    }
    if (this.seconds >= this.until() - 1e-9) this.pause();
  }

  until() {
    return Math.min(600, Math.max(1, Number($("until").value) || 60));
  }

  frame(now) {
    const passed = Math.min(0.1, (now - (this.lastFrame ?? now)) / 1000);
    this.lastFrame = now;
    if (this.isPlaying) {
      const speed = Number($("speed").value);
      const before = this.seconds;
      this.advance(speed > 0 ? passed * speed : Infinity, 30);
      this.measure(passed, this.seconds - before);
      if (now - this.drawnAt > 200) {
        this.drawnAt = now;
        this.draw();
      }
    }
    requestAnimationFrame((next) => this.frame(next));
  }

  measure(wall, simulated) {
    this.measured.wall += wall;
    this.measured.simulated += simulated;
    if (this.measured.wall > 1) {
      this.measured.factor = this.measured.simulated / this.measured.wall;
      Object.assign(this.measured, { wall: 0, simulated: 0 });
    }
  }

  step() {
    this.pause();
    const { stepped } = this.ask({ step: {} });
    this.seconds = stepped.seconds;
    $("packets").open = true;
    showSteps(stepped.steps);
    this.draw();
  }

  play() {
    if (this.seconds >= this.until()) this.begin();
    this.isPlaying = true;
    $("play").textContent = "Pause";
  }

  pause() {
    this.isPlaying = false;
    $("play").textContent = "Go on";
    this.draw();
  }

  draw() {
    const { flows: reached } = this.ask({ flows: {} });
    if (!reached) return;
    showFlows(reached.flows);
    const { figures } = this.ask({ figures: { flow: Math.max(0, $("shown").selectedIndex) } });
    showFigures(figures);
    const digits = this.isPlaying ? 1 : 6;
    const { factor } = this.measured;
    const speed = this.isPlaying && factor > 0 ? `, ${factor.toPrecision(2)} × real time` : "";
    $("clock").value = `${this.seconds.toFixed(digits)} s${speed}`;
  }
}

// ── Start ────────────────────────────────────────────────────────────────────────────────────

function describe(described) {
  // The page's policy has no place for a <style> element.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(described.style);
  document.adoptedStyleSheets.push(sheet);
  const list = document.createElement("datalist");
  list.id = "controllers";
  for (const { name, about } of described.controllers) list.append(new Option(about, name));
  document.body.append(list);
  for (const { name, about } of described.link_words) {
    const [term, meaning] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    meaning.textContent = about;
    $("words").append(term, meaning);
  }
  return described.max_flows;
}

async function start() {
  const ask = await load();
  const maxFlows = describe(ask({ describe: {} }).described);
  const playground = new Playground(ask);
  const address = readAddress();
  const begin = () => playground.begin();
  $("link").value = address.link;
  $("return-link").value = address.back;
  $("seed").value = address.seed;
  $("speed").value = address.speed;
  if ($("speed").selectedIndex < 0) $("speed").value = DEFAULTS.speed;
  $("until").value = address.until;
  place(address.changes.at(-1)?.link ?? address.link);
  for (const flow of address.flows.slice(0, maxFlows)) addFlow("controllers", flow, begin);
  for (const name of Object.keys(SLIDERS)) {
    $(name).addEventListener("input", () => {
      label(name);
      $("link").value = reworded($("link").value, name);
      playground.change($("link").value);
    });
  }
  $("link").addEventListener("change", () => {
    place($("link").value);
    playground.change($("link").value);
  });
  $("return-link").addEventListener("change", begin);
  $("seed").addEventListener("change", begin);
  for (const id of ["speed", "until"]) $(id).addEventListener("change", () => playground.keep());
  $("shown").addEventListener("change", () => playground.draw());
  $("add").addEventListener("click", () => {
    if ($("flows").children.length < maxFlows) addFlow("controllers", ["bbr3", 0], begin);
    begin();
  });
  $("words-toggle").addEventListener("click", () => {
    $("words").hidden = !$("words").hidden;
    $("words-toggle").setAttribute("aria-expanded", String(!$("words").hidden));
  });
  $("play").addEventListener("click", () => (playground.isPlaying ? playground.pause() : playground.play()));
  $("step").addEventListener("click", () => playground.step());
  $("again").addEventListener("click", () => {
    playground.begin();
    playground.play();
  });
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  playground.begin(address.changes);
  requestAnimationFrame((now) => playground.frame(now));
  // For those who measure it, and for tests.
  Object.assign(window, { playground, readAddress });
}

start().catch((error) => complain(`the simulator did not start: ${error}`));
