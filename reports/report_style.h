// The look of report.html: one column, system fonts, light or dark as the reader has it, tables that become cards on
// a phone. No script and nothing from elsewhere.
#pragma once

namespace tokitai::evidence {

inline constexpr const char* kReportStyle = R"css(
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5b6670; --line: #dfe4e8; --paper: #fbfcfc; --card: #fff;
  --good: #1f7a4d; --bad: #b3261e; --accent: #2b6cb0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8eb; --soft: #9aa6b0; --line: #2c343b; --paper: #14181b;
  --card: #1b2024; --good: #63c995; --bad: #ff8a80; --accent: #7ab3ec; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { margin: 0; font-size: 1.05rem; font-weight: 600; color: var(--soft); }
h2 { margin: 3rem 0 .5rem; font-size: 1.3rem; line-height: 1.3; overflow-wrap: anywhere; }
h3 { margin: 0 0 .4rem; font-size: .8rem; font-weight: 600; color: var(--soft); text-transform: uppercase;
  letter-spacing: .05em; }
p { margin: .4rem 0; }
.verdict { margin: .4rem 0 .6rem; font-size: 1.75rem; line-height: 1.25; font-weight: 650; }
.good { color: var(--good); } .bad { color: var(--bad); }
.soft { color: var(--soft); }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
code { font: .86em/1.5 ui-monospace, "SFMono-Regular", Menlo, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.figures { display: flex; flex-wrap: wrap; gap: .5rem 2.25rem; margin: 1.5rem 0; padding: 0; }
.figures div { display: flex; flex-direction: column-reverse; }
.figures dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.figures dt { color: var(--soft); font-size: .85rem; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .94rem; }
th { text-align: left; font-weight: 600; font-size: .82rem; color: var(--soft); vertical-align: bottom; }
th, td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.n { text-align: right; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin: 1rem 0; }
.pair > div, figure { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.1rem; }
.pair ul, .plain { margin: 0; padding-left: 1.1rem; } li { margin: .25rem 0; overflow-wrap: anywhere; }
.claims { border-top: 3px solid var(--good) !important; } .nonclaims { border-top: 3px solid var(--soft) !important; }
figure { margin: 0; min-width: 0; } figcaption { font-size: .85rem; color: var(--soft); margin-top: .5rem; }
svg { display: block; width: 100%; height: auto; font-size: 12px; } svg text { fill: var(--soft); }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); } svg .bar { fill: var(--accent); }
svg .roof { stroke: var(--good); stroke-width: 2; } svg .drop { stroke: var(--soft); stroke-dasharray: 3 4; }
svg .dot { fill: var(--accent); }
.facts th { width: 9rem; font-size: .9rem; } details { margin: .75rem 0; } summary { cursor: pointer; color: var(--soft); }
@media (max-width: 46rem) {
  body { padding: 1.5rem 1rem 3rem; } .verdict { font-size: 1.4rem; } .pair { grid-template-columns: 1fr; }
  .cards thead { display: none; } .cards tr { display: block; border-bottom: 1px solid var(--line); padding: .6rem 0; }
  .cards td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .12rem 0; text-align: right; }
  .cards td::before { content: attr(data-name); color: var(--soft); text-align: left; }
  .cards td:first-child { font-weight: 600; font-size: 1.02rem; } .cards td:first-child::before { content: none; }
  .facts th, .facts td { display: block; border: 0; padding: 0; } .facts tr { display: block; padding: .45rem 0;
  border-bottom: 1px solid var(--line); } }
@media print { body { max-width: none; } .pair, figure { break-inside: avoid; } }
)css";

}  // namespace tokitai::evidence
