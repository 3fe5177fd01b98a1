// What the tests of pointing ask a report.
window.plots = [...document.querySelectorAll("svg.plot")].filter((p) => p.querySelector("svg[data-time]"));
window.first = plots[0];
window.inside = plots[plots.length - 1];
window.values = (plot) => plot.parentNode.querySelector("output").textContent;
window.shownLines = (series) => [...first.querySelectorAll(`svg[data-time] .bold.${series}`)]
  .filter((line) => getComputedStyle(line).display !== "none").length;
window.zoomed = () => plots.every((plot) => plot.querySelector("svg[data-time]").hasAttribute("viewBox"));
window.labelsBelow = (plot) => [...plot.querySelectorAll("text.label.middle")]
  .filter((text) => getComputedStyle(text).display !== "none" && /^[0-9.]+$/.test(text.textContent))
  .map((text) => text.textContent);
window.rttIsThatOfTheData = () => {
  const [time, rtt] = [/^([0-9.]+) s/, /Round-trip time, ms: ([0-9.]+)/].map((r) => Number(values(inside).match(r)[1]));
  const { columns, rows } = JSON.parse(document.getElementById("data").textContent).samples;
  const [t, ms, variant] = ["t_seconds", "rtt_ms", "variant"].map((name) => columns.indexOf(name));
  const near = rows.filter((row) => row[variant] === "b" && Math.abs(row[t] - time) < 0.11);
  return near.some((row) => Math.abs(row[ms] - rtt) < 0.05) ? "" : `${time} ${rtt} ${JSON.stringify(near)} ${columns}`;
};
window.sortedByGoodput = () => [true, false].map((up) => {
  const table = document.querySelector("table.rounds");
  table.tHead.rows[0].cells[2].querySelector("button").click();
  const figures = [...table.tBodies[0].rows].map((row) => Number(row.cells[2].textContent));
  return figures.length > 3 && figures.every((f, i) => i === 0 || (up ? figures[i - 1] <= f : figures[i - 1] >= f));
});
window.pointsNameTheirRound = () => [...document.querySelectorAll("g > .dot")]
  .every((dot) => /^[ab], round [123]: /.test(dot.parentNode.querySelector("title").textContent));
window.tools = () => [...document.querySelectorAll(".tools button")].map((button) => button.textContent);
window.saved = async (name) => {
  let blob;
  const make = URL.createObjectURL;
  URL.createObjectURL = (given) => { blob = given; return make.call(URL, given); };
  [...document.querySelectorAll(".tools button")].find((b) => b.textContent.includes(name)).click();
  URL.createObjectURL = make;
  return blob.text();
};
0
