// Draws the plots of a page. What it draws stands in a table, too.
"use strict";
(function () {
  var inks = ["#2a7bd1", "#8fbdf0", "#e08a1e"];
  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }
  function draw(where, data) {
    if (!data.names || !data.names.length || typeof uPlot === "undefined") { return; }
    var at = data.names.map(function (_, i) { return i; });
    var sums = data.names.map(function () { return 0; });
    var stacked = data.values.map(function (list) {
      return list.map(function (v, i) { sums[i] += v; return sums[i]; });
    });
    // The tallest comes first, so that the others are drawn over it.
    var series = data.series.map(function (name, i) {
      return {
        label: name,
        fill: inks[i % inks.length],
        stroke: inks[i % inks.length],
        paths: uPlot.paths.bars({ size: [0.6, 80] }),
        points: { show: false },
        value: function (_, v, n, at) { return at === null || at === undefined ? "" : String(data.values[i][at]); }
      };
    });
    var axis = { stroke: color("--text"), grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line") } };
    new uPlot({
      width: Math.max(300, Math.min(where.clientWidth, 900)),
      height: 260,
      scales: { x: { time: false, range: [-0.6, at.length - 0.4] }, y: { range: function (_, low, high) { return [0, (high || 1) * 1.08]; } } },
      axes: [
        Object.assign({}, axis, {
          splits: function () { return at; },
          values: function (_, ticks) { return ticks.map(function (i) { return data.names[i]; }); }
        }),
        Object.assign({}, axis, { size: 70 }, data.whole ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] } : {})
      ],
      series: [{ value: function (_, i) { return i === null ? "" : data.names[i]; }, label: data.of || "of" }].concat(series.reverse())
    }, [at].concat(stacked.reverse()), where);
  }
  document.addEventListener("DOMContentLoaded", function () {
    document.querySelectorAll("[data-plot]").forEach(function (where) {
      fetch(where.getAttribute("data-plot")).then(function (r) { return r.json(); }).then(function (data) { draw(where, data); });
    });
  });
})();
