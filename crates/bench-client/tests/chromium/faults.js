// What a reader of this page would complain about, as a list of sentences.
(() => {
  const faults = [];
  const round = (rect) => [rect.left, rect.top, rect.right, rect.bottom].map(Math.round).join(" ");
  const name = (node) => {
    const text = node.textContent.trim().slice(0, 40);
    return `<${node.tagName} class="${node.getAttribute("class") || ""}"> ${text}`;
  };
  // The page's own one, which its policy names, and its data.
  const own = document.querySelector("meta[content*=\"'sha256-\"]") ? 1 : 0;
  const scripts = [...document.scripts].filter((script) => script.type !== "application/json");
  if (scripts.length > own) {
    faults.push(`${scripts.length} scripts`);
  }
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    faults.push(`the page scrolls sideways: ${document.documentElement.scrollWidth} > ${width}`);
  }
  // What leaves the window may lie in a table that scrolls by itself.
  for (const node of document.querySelectorAll("header *, dl *, figure, figcaption, .scroll, footer *")) {
    const rect = node.getBoundingClientRect();
    if (rect.right > width + 1 || rect.left < -1) {
      faults.push(`${name(node)} leaves the window: ${round(rect)}`);
    }
  }
  // A line's box is higher than its letters; those of the smallest fonts still have to be apart.
  const inner = (node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    const height = bottom - top;
    return { left, right, top: top + height * 0.22, bottom: bottom - height * 0.22 };
  };
  const plots = [...document.querySelectorAll("svg.plot")];
  if (plots.length === 0) {
    faults.push("no plot");
  }
  // As the page comes, and with every line that can be switched on.
  const look = () => {
    for (const plot of plots) {
      const title = plot.querySelector("title").textContent;
      const box = plot.getBoundingClientRect();
      if (box.width < 200 || box.height < 30) {
        faults.push(`${title}: too small: ${round(box)}`);
      }
      const shapes = [...plot.querySelectorAll("text, path, rect, circle, polygon")]
        .filter((shape) => getComputedStyle(shape).display !== "none");
      // What lies in a drawing inside the drawing is cut off at its edges.
      for (const shape of shapes.filter((shape) => shape.closest("svg") === plot)) {
        const rect = shape.getBoundingClientRect();
        const isInside = rect.left >= box.left - 1 && rect.right <= box.right + 1 &&
          rect.top >= box.top - 1 && rect.bottom <= box.bottom + 1;
        if (!isInside) {
          faults.push(`${title}: ${name(shape)} leaves the plot: ${round(rect)} of ${round(box)}`);
        }
      }
      const marks = shapes.filter((shape) => shape.tagName !== "text" && !shape.matches(".grid, .axis, .reference"));
      const isEmpty = [...plot.querySelectorAll("text")].some((text) => /^(no|does not) /.test(text.textContent));
      if (marks.length === 0 && !isEmpty) {
        faults.push(`${title}: no mark, and nothing says why`);
      }
      const texts = shapes.filter((shape) => shape.tagName === "text");
      for (const text of texts) {
        if (text.textContent.trim() === "" || text.getBoundingClientRect().width === 0) {
          faults.push(`${title}: an empty text`);
        }
      }
      const boxes = texts.map(inner);
      for (let i = 0; i < boxes.length; i++) {
        for (let j = i + 1; j < boxes.length; j++) {
          const [a, b] = [boxes[i], boxes[j]];
          if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) {
            faults.push(`${title}: ${name(texts[i])} overlaps ${name(texts[j])}`);
          }
        }
      }
    }
  };
  look();
  const switches = [...document.querySelectorAll(".switch")];
  if (switches.length > 0) {
    switches.forEach((box) => { box.checked = true; });
    look();
    switches.forEach((box) => { box.checked = false; });
  }
  // What a screen reader would have nothing to say of. `innerText` has no words that are not shown,
  // but those that are only out of sight.
  for (const head of document.querySelectorAll("th")) {
    if (head.innerText.trim() === "") {
      faults.push(`a header cell without words: ${name(head)}`);
    }
  }
  for (const control of document.querySelectorAll("button, input, a[href], [role=button], [tabindex]")) {
    const label = control.getAttribute("aria-label")
      || document.querySelector(`label[for="${control.id}"]`)?.innerText || control.innerText || "";
    if (label.trim() === "") {
      faults.push(`a control without a name: ${name(control)}`);
    }
  }
  return faults;
})()
