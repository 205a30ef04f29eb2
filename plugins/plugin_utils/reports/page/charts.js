// Copyright (c) 2026, the gpufabric.pyramid authors
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The page's charts, by Apache ECharts from the data that charts.py and topology.py wrote. A chart is drawn when it comes into sight.
// Tooltips are drawn, not written as markup: a name of a device stays a text.
"use strict";

window.pyramidCharts = (() => {
  const COLOURS = { pass: "#009e73", warn: "#e69f00", fail: "#d55e00", unknown: "#7b4fb5", skip: "#767676", not_reached: "#b9bec5" };
  const SYMBOLS = { pass: "circle", warn: "rect", fail: "diamond", unknown: "triangle", skip: "circle", not_reached: "emptyCircle" };
  // Blue to orange through pale: read alike by every kind of colour blindness, and in print by its lightness.
  const SCALE = ["#0b3c6f", "#2a78b5", "#8cc1dd", "#f3ecd8", "#f0b35b", "#d55e00"];
  const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
  const TYPES = ["solid", "dashed", "dotted"];
  const base = { animation: false, aria: { enabled: true }, textStyle: { fontFamily: 'system-ui, "DejaVu Sans", sans-serif' } };
  const tooltip = (formatter, trigger = "item") => ({ trigger, renderMode: "richText", confine: true, formatter });

  function axis(name, more = {}) {
    return { name, nameLocation: "middle", nameGap: 30, ...more };
  }

  function histogram(chart) {
    const label = (number) => `${chart.bins[number]} to ${Number((chart.bins[number] + chart.step).toPrecision(6))} ${chart.unit}`;
    return {
      tooltip: tooltip((one) => `${label(one.dataIndex)}: ${one.value} ${one.seriesName}`),
      legend: { show: chart.series.length > 1, bottom: 0 },
      grid: { left: 60, right: 20, top: 20, bottom: 60 },
      xAxis: axis(chart.unit, { type: "category", data: chart.bins.map(String) }),
      yAxis: axis("rows", { type: "value", nameGap: 40, minInterval: 1 }),
      color: LINES,
      series: chart.series.map((one) => ({ name: one.name, type: "bar", stack: "all", data: one.counts, barCategoryGap: "10%" })),
    };
  }

  function heatMap(chart) {
    const values = chart.cells.map((one) => one[2]);
    const [low, high] = values.reduce(([min, max], one) => [Math.min(min, one), Math.max(max, one)], [Infinity, -Infinity]);
    // Colours span a fifth at least: noise of a healthy pod must not look like a bad host.
    const [from, to] = chart.worst === "min" ? [Math.min(low, high * 0.8), high] : [low, Math.max(high, low * 1.25)];
    const sides = { type: "category", splitArea: { show: true } };
    return {
      tooltip: tooltip((one) => `${chart.ys[one.value[1]]} to ${chart.xs[one.value[0]]}: ${one.value[2]} ${chart.unit}`),
      grid: { left: 90, right: 20, top: 10, bottom: 110 },
      xAxis: { ...sides, data: chart.xs, axisLabel: { rotate: 60 } },
      yAxis: { ...sides, data: chart.ys, inverse: true },
      visualMap: {
        min: from,
        max: to > from ? to : from + 1,
        calculable: true,
        precision: high < 10 ? 3 : 0,
        orient: "horizontal",
        left: "center",
        bottom: 0,
        text: [`${high} ${chart.unit}`, `${low}`],
        inRange: { color: chart.worst === "min" ? [...SCALE].reverse() : SCALE },
      },
      series: [{ type: "heatmap", data: chart.cells, progressive: 20000, itemStyle: { borderWidth: chart.xs.length > 64 ? 0 : 0.5, borderColor: "#fff" } }],
    };
  }

  function lines(chart) {
    const marks = chart.expected === null ? [] : [{ yAxis: chart.expected, label: { formatter: `expected ${chart.expected}`, position: "insideStartTop" } }];
    return {
      tooltip: tooltip((one) => `${one.seriesName}: ${one.value[1]} ${chart.unit} at ${one.value[0]} ${chart.x_unit}`),
      legend: { type: "scroll", bottom: 0 },
      grid: { left: 70, right: 40, top: 20, bottom: 80 },
      xAxis: axis(chart.x_unit, { type: chart.log_x ? "log" : "value", logBase: 2, min: "dataMin", max: "dataMax", axisLabel: { formatter: (value) => size(value, chart.x_unit) } }),
      yAxis: axis(chart.unit, { type: "value", nameGap: 50 }),
      color: LINES,
      series: chart.series.map((one, number) => ({
        name: one.name,
        type: "line",
        data: one.points,
        symbolSize: 5,
        lineStyle: { type: TYPES[Math.floor(number / LINES.length) % TYPES.length], width: 2 },
        markLine: number === 0 && marks.length ? { silent: true, symbol: "none", lineStyle: { type: "dashed", color: "#1b1f24" }, data: marks } : undefined,
      })),
    };
  }

  function size(value, unit) {
    if (unit !== "bytes" || value < 1024) {
      return String(value);
    }
    const power = Math.min(4, Math.floor(Math.log2(value) / 10));
    return `${Number((value / 2 ** (10 * power)).toPrecision(3))} ${["", "Ki", "Mi", "Gi", "Ti"][power]}B`;
  }

  function topology(drawn) {
    const order = ["pass", "skip", "not_reached", "warn", "unknown", "fail"];
    const well = (verdict) => order.indexOf(verdict) < 3;
    const many = drawn.nodes.length > 150;
    const hosts = Math.max(...drawn.nodes.map(([, row]) => row));
    const at = new Map(drawn.nodes.map(([name, row, place]) => [name, [place, row]]));
    const node = ([name, row, place, verdict, group]) => ({
      name,
      value: [place, row],
      verdict,
      group,
      symbol: SYMBOLS[verdict],
      symbolSize: well(verdict) ? (many ? 6 : 10) : 14,
      itemStyle: { color: COLOURS[verdict], borderColor: "#1b1f24", borderWidth: well(verdict) ? 0 : 1 },
      label: { show: true, formatter: name, color: "#1b1f24", fontSize: 10, position: row === hosts ? "bottom" : "top", rotate: row === hosts ? 60 : 0, distance: row === hosts ? 16 : 5 },
    });
    const link = ([source, target, cables, verdict, ports]) => ({
      coords: [at.get(source), at.get(target)],
      words: `${source} to ${target}: ${cables} cable${cables > 1 ? "s" : ""}, ${verdict}${ports.length ? "\n" + ports.slice(0, 6).join("\n") : ""}`,
      verdict,
      lineStyle: { color: well(verdict) ? "#9aa2ac" : COLOURS[verdict], width: well(verdict) ? 0.5 : 3, opacity: well(verdict) ? (many ? 0.15 : 0.6) : 1 },
    });
    const worst = (one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict);
    const words = ({ data }) => data.words || `${data.name}${data.group ? " of " + data.group : ""}: ${data.verdict.replace("_", " ")}`;
    const hidden = { type: "value", show: false, min: 0, max: 1 };
    return {
      tooltip: tooltip(words),
      grid: { left: 20, right: 20, top: 40, bottom: 70 },
      xAxis: hidden,
      yAxis: { ...hidden, max: hosts, inverse: true },
      dataZoom: [{ type: "inside", xAxisIndex: 0, zoomOnMouseWheel: "ctrl" }],
      series: [
        { type: "lines", coordinateSystem: "cartesian2d", data: drawn.links.map(link).sort(worst), z: 1 },
        { type: "scatter", data: drawn.nodes.map(node).sort(worst), labelLayout: { hideOverlap: true }, z: 2 },
      ],
    };
  }

  // A map of one colour is a sentence.
  function alike(chart) {
    const first = chart.draw === "heat_map" ? chart.cells[0][2] : null;
    return first !== null && chart.cells.every((one) => one[2] === first) ? `${first} ${chart.unit} in each of ${chart.cells.length} places.` : "";
  }

  const WAYS = { histogram, heat_map: heatMap, curve: lines, over_time: lines };

  function draw(place, option) {
    if (!window.echarts.getInstanceByDom(place)) {
      const chart = window.echarts.init(place, null, { renderer: "canvas" });
      chart.setOption({ ...base, ...option() });
      place.dataset.drawn = "yes";
      window.addEventListener("resize", () => chart.resize());
      return chart;
    }
    return window.echarts.getInstanceByDom(place);
  }

  function begin(data, element, show) {
    const waiting = new Map();
    const seen = new IntersectionObserver((entries) => entries.filter((one) => one.isIntersecting).forEach((one) => waiting.get(one.target)()), { rootMargin: "200px" });
    const later = (place, option, after = () => {}) => {
      waiting.set(place, () => {
        seen.unobserve(place);
        after(draw(place, option));
        waiting.set(place, () => {});
      });
      seen.observe(place);
    };
    const figure = document.querySelector("#topology figure");
    figure.classList.add("tall");
    later(figure, () => topology(data.topology), (chart) => chart.on("click", { seriesType: "scatter" }, (event) => show({ text: event.name })));
    const section = document.getElementById("charts");
    for (const chart of data.charts) {
      const sentence = alike(chart);
      if (sentence) {
        section.append(element("div", { class: "chart", id: `chart-${chart.name}` }, element("h3", {}, chart.title), element("p", {}, `${sentence} ${chart.note}`)));
        continue;
      }
      const place = element("figure", { id: `chart-${chart.name}`, ...(chart.draw === "heat_map" ? { class: "tall" } : {}) });
      const worst = (chart.worst_rows || []).map(([node, where, value]) => `${node} ${where} ${value} ${chart.unit}`.replace("  ", " ")).join(", ");
      section.append(
        element("div", { class: "chart" }, element("h3", {}, chart.title), place, element("p", {}, chart.note), ...(worst ? [element("p", {}, `Farthest out: ${worst}.`)] : [])),
      );
      later(place, () => WAYS[chart.draw](chart));
    }
    if (!data.charts.length) {
      section.append(element("p", {}, "The run has read nothing that is drawn."));
    }
    window.addEventListener("beforeprint", () => waiting.forEach((now) => now()));
  }

  return { begin };
})();
