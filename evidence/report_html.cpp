#include <fmt/format.h>

#include "evidence/objections.h"
#include "evidence/report_text.h"
#include "evidence/svg.h"
#include "reports/page.h"

namespace tokitai::evidence {
namespace {

void figure(Page& page, const std::string& drawing, const std::string& caption) {
  page.add("<figure>{}<figcaption>{}</figcaption></figure>\n", drawing, escaped(caption));
}

std::string anchor(std::string_view name) { return fmt::format("op-{}", escaped(name)); }

void head(Page& page, const Predicate& p) {
  const OperatorResult all = total(p);
  const bool good = judged(p).ok();
  page.add("<header><h1>Tokitai evidence</h1>\n<p class=\"verdict {}\">{}</p>\n", good ? "good" : "bad",
           escaped(verdict(p)));
  page.add(
      "<p class=\"soft\">Device <strong>{}</strong> ({}), compared with the {} machine. Made {} by tokitai {}.</p>\n",
      escaped(p.device), escaped(p.description), escaped(p.against), escaped(p.made), escaped(p.tokitai));
  page.add("<dl class=\"figures\">");
  const auto number = [&](std::string_view name, std::int64_t value) {
    page.add("<div><dt>{}</dt><dd>{}</dd></div>", name, grouped(value));
  };
  number("operators", std::ssize(p.operators));
  number("problems", all.problems);
  number("runs", all.runs);
  number("outputs compared", all.compared);
  number("differing", all.mismatches);
  if (all.checks.accesses > 0) number("accesses checked", all.checks.accesses);
  if (all.checks.accesses > 0) number("findings", all.checks.findings);
  page.add("</dl></header>\n");
}

void summary(Page& page, const Predicate& p) {
  bool errors = false, speeds = false;
  for (const OperatorEvidence& one : p.operators) errors |= one.error.has_value(), speeds |= one.speed.has_value();
  page.add(
      "<table class=\"cards\"><thead><tr><th>operator</th><th class=\"n\">problems</th>"
      "<th class=\"n\">outputs compared</th><th class=\"n\">differing</th>{}{}<th>contract</th></tr></thead><tbody>\n",
      errors ? "<th class=\"n\">worst error, ulp</th>" : "", speeds ? "<th class=\"n\">speed</th>" : "");
  const auto cell = [&](std::string_view name, const std::string& value) {
    page.add("<td class=\"n\" data-name=\"{}\">{}</td>", name, value);
  };
  for (const OperatorEvidence& one : p.operators) {
    page.add("<tr><td><a href=\"#{}\">{}</a></td>", anchor(one.result.name), escaped(one.result.name));
    cell("problems", grouped(one.result.problems));
    cell("outputs compared", grouped(one.result.compared));
    const bool good = one.result.mismatches == 0 && one.result.failed == 0;
    cell("differing",
         fmt::format("<span class=\"{}\">{}</span>", good ? "good" : "bad", grouped(one.result.mismatches)));
    if (errors) cell("worst f16 error, ulp", one.error ? fmt::format("{:.4g}", one.error->worst_ulp) : "-");
    if (speeds) cell("speed", one.speed ? speed_cell(*one.speed) : "-");
    page.add("<td data-name=\"contract\"><code>{}</code></td></tr>\n", short_digest(one.contract_digest));
  }
  page.add("</tbody></table>\n");
}

void section(Page& page, const OperatorEvidence& one) {
  page.add("<section id=\"{}\"><h2>{}</h2>\n<p>{}</p>\n", anchor(one.result.name), breakable(one.result.name),
           escaped(one.summary));
  if (!one.result.first_failure.empty())
    page.add("<p class=\"bad\">First failure: {}</p>\n", escaped(one.result.first_failure));
  page.claims(one.claims, one.non_claims);
  if (one.error || one.speed) {
    page.add("<div class=\"pair\">");
    if (one.error) figure(page, error_histogram(*one.error), error_sentence(*one.error));
    if (one.speed)
      figure(page, roofline(*one.speed),
             speed_sentence(*one.speed) + (one.speed->flops > 0
                                               ? " The slope is the copy bandwidth; no peak of arithmetic was measured."
                                               : " It does no arithmetic, so it has no place under a roof."));
    page.add("</div>\n");
  }
  page.add("<p class=\"soft\">contract <code>{}</code><br/>definition <code>{}</code></p></section>\n",
           one.contract_digest, one.definition_digest);
}

void facts(Page& page, const Predicate& p) {
  page.add("<section><h2>How it was run</h2>\n<p>Each problem in {} ways:</p>", p.variants.size());
  page.list("plain", p.variants);
  page.facts({{"processor", fmt::format("{}, {} cores", escaped(p.machine.processor), p.machine.cores)},
              {"system", escaped(p.machine.system)},
              {"compiler", escaped(p.build.compiler)},
              {"flags", fmt::format("<code>{}</code>", escaped(p.build.flags))},
              {"program", fmt::format("<code>{}</code>", p.build.binary_digest)}});
  if (!p.kernels.empty()) {
    page.add(
        "<details><summary>{} compiled kernels</summary>\n<table class=\"cards\"><thead><tr><th>kernel</th>"
        "<th>target</th><th>compiler</th><th>audit</th><th>sha256</th></tr></thead><tbody>\n",
        p.kernels.size());
    for (const KernelFacts& k : p.kernels)
      page.add(
          "<tr><td>{}</td><td data-name=\"target\">{}</td><td data-name=\"compiler\">{}</td>"
          "<td data-name=\"audit\">{}</td><td data-name=\"sha256\"><code>{}</code></td></tr>\n",
          escaped(k.label), escaped(k.target), escaped(k.toolchain), escaped(k.audit), short_digest(k.artifact_digest));
    page.add("</tbody></table></details>\n");
  }
  if (p.proofs) {
    page.add(
        "</section>\n<section><h2>Proofs</h2>\n<p>Claims about the GPU patterns' index arithmetic, for all sizes, "
        "decided "
        "by {}.</p>\n<table class=\"cards\"><thead><tr><th>pattern</th><th>plans</th><th>claims</th><th>proved</th>"
        "<th>seconds</th></tr></thead><tbody>\n",
        escaped(p.proofs->solver));
    for (const ProofFigures& one : p.proofs->patterns)
      page.add(
          "<tr><td>{}</td><td data-name=\"plans\">{}</td><td data-name=\"claims\">{}</td>"
          "<td data-name=\"proved\">{}</td><td data-name=\"seconds\">{:.1f}</td></tr>\n",
          escaped(one.name), one.plans, one.claims, one.proved, one.seconds);
    page.add("</tbody></table>\n");
  }
  page.add("</section>\n<section><h2>What this does not show</h2>");
  page.list("plain", p.non_claims);
  page.add(
      "<p class=\"soft\">evidence.json lists every problem with the digests of its inputs and outputs. "
      "<code>tokitai audit evidence.json --replay</code> runs them again.</p></section>\n");
}

}  // namespace

std::string report_html(const Predicate& predicate) {
  Page page("Tokitai evidence: " + predicate.device);
  head(page, predicate);
  page.add("<main>\n");
  summary(page, predicate);
  for (const OperatorEvidence& one : predicate.operators) section(page, one);
  facts(page, predicate);
  page.add("</main>\n");
  return std::move(page).done();
}

}  // namespace tokitai::evidence
