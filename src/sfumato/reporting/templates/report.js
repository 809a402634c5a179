for (const head of document.querySelectorAll(".wide thead th")) {
  head.tabIndex = 0;
  head.role = "button";
  const sort = () => {
    const body = head.closest("table").tBodies[0];
    const up = head.ariaSort !== "ascending";
    for (const other of head.parentNode.children) other.ariaSort = null;
    head.ariaSort = up ? "ascending" : "descending";
    const key = (row) => row.cells[head.cellIndex].textContent.trim();
    const amount = (text) => parseFloat(text.replace(/,/g, ""));
    const order = (a, b) => {
      const [x, y] = [amount(key(a)), amount(key(b))];
      return Number.isNaN(x) || Number.isNaN(y) ? key(a).localeCompare(key(b)) : x - y;
    };
    const rows = [...body.rows].sort(order);
    body.append(...(up ? rows : rows.reverse()));
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
  });
}
const open = () => document.getElementById(location.hash.slice(1))?.setAttribute("open", "");
addEventListener("hashchange", open);
open();
