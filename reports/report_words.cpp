// A call's report as JSON, Markdown and one page of HTML.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "reports/facts_json.h"
#include "reports/page.h"
#include "tokitai/report.h"

namespace tokitai {
namespace {

using nlohmann::ordered_json;

std::string verdict(const Report& r) {
  if (r.equal())
    return fmt::format("All {} outputs are equal to the reference's, bit for bit{}.", evidence::grouped(r.compared),
                       r.within_bound() ? ""
                                        : fmt::format("; but {} are beyond their derived bound",
                                                      evidence::grouped(r.error->exceeded)));
  return fmt::format("{} of {} outputs differ from the reference's.", evidence::grouped(r.differing),
                     evidence::grouped(r.compared));
}

std::string error_text(const Report& r) {
  if (!r.error) return {};
  const std::string beyond = r.within_bound()
                                 ? ""
                                 : fmt::format(" {} outputs are beyond their bound: {}.",
                                               evidence::grouped(r.error->exceeded), r.error->first_exceeded);
  return fmt::format("The largest error is {:.4g} units in the last place; the derived bound is {:.4g}.{}",
                     r.error->worst_ulp, r.error->bound_ulp, beyond);
}

std::string options_text(const Report& r) {
  std::vector<std::string> all;
  for (const auto& [name, value] : r.options) all.push_back(fmt::format("{} = {}", name, value));
  return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "));
}

constexpr const char* kScope =
    "This is about one call with these inputs. It was compared with the reference machine of the same library; that "
    "the "
    "reference computes its formula is shown elsewhere.";

}  // namespace

std::string Report::json() const {
  ordered_json option_values = ordered_json::object(), all = ordered_json::array(), compiled = ordered_json::array();
  for (const auto& [name, value] : options) option_values[name] = value;
  for (const OperandReport& o : operands) {
    ordered_json one = {{"name", o.name}, {"type", o.type}, {"shape", o.shape}};
    if (!o.read.empty()) one["read_sha256"] = o.read;
    if (!o.written.empty())
      one["written_sha256"] = o.written, one["compared"] = o.compared, one["differing"] = o.differing;
    all.push_back(std::move(one));
  }
  for (const KernelFacts& kernel : kernels) compiled.push_back(ordered_json(evidence::to_json(kernel)));
  ordered_json document = {{"version", 1},
                           {"operator", op},
                           {"summary", summary},
                           {"device", {{"name", device}, {"description", description}}},
                           {"contract_sha256", contract_digest},
                           {"definition_sha256", definition_digest},
                           {"options", option_values},
                           {"operands", all},
                           {"seconds", seconds},
                           {"skipped", outcome.skipped},
                           {"outputs_compared", compared},
                           {"mismatches", differing}};
  if (!first_difference.empty()) document["first_difference"] = first_difference;
  if (error) {
    document["worst_ulp"] = error->worst_ulp;
    document["bound_ulp"] = error->bound_ulp;
    document["beyond_bound"] = error->exceeded;
  }
  document["tokitai"] = evidence::library_version();
  document["machine"] = evidence::to_json(evidence::machine_facts());
  document["build"] = evidence::to_json(evidence::build_facts());
  document["kernels"] = compiled;
  document["claims"] = claims;
  document["non_claims"] = non_claims;
  document["scope"] = kScope;
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string Report::markdown() const {
  std::string out = fmt::format("# {}\n\n{}\n\n{}\n\n", op, summary, verdict(*this));
  if (!first_difference.empty()) out += first_difference + "\n\n";
  if (error) out += error_text(*this) + "\n\n";
  out += fmt::format("{} ({}), {:.3g} ms{}. Options: {}.\n\n", device, description, 1e3 * seconds,
                     outcome.skipped ? ", skipped: nothing was changed" : "", options_text(*this));
  out +=
      "| operand | type | shape | read, sha256 | written, sha256 | compared | differing "
      "|\n|---|---|---|---|---|--:|--:|\n";
  for (const OperandReport& o : operands)
    out += fmt::format("| {} | {} | {} | `{}` | `{}` | {} | {} |\n", o.name, o.type, o.shape,
                       o.read.empty() ? "-" : evidence::short_digest(o.read),
                       o.written.empty() ? "-" : evidence::short_digest(o.written), evidence::grouped(o.compared),
                       evidence::grouped(o.differing));
  out += fmt::format("\nClaims:\n\n- {}\n\nDoes not claim:\n\n- {}\n\n", fmt::join(claims, "\n- "),
                     fmt::join(non_claims, "\n- "));
  const evidence::BuildFacts build = evidence::build_facts();
  out += fmt::format("Contract sha256 `{}`, definition sha256 `{}`. tokitai {}, built with {} (`{}`).\n\n",
                     contract_digest, definition_digest, evidence::library_version(), build.compiler, build.flags);
  for (const KernelFacts& k : kernels)
    out += fmt::format("- {} for {}: {}; audit: {}; sha256 `{}`\n", k.label, k.target, k.toolchain, k.audit,
                       k.artifact_digest);
  return base::printable(out + kScope + "\n");
}

std::string Report::html() const {
  using namespace evidence;
  Page page("Tokitai: a call of " + op);
  page.add("<header><h1>{}</h1>\n<p class=\"verdict {}\">{}</p>\n<p>{}</p></header>\n<main>\n", breakable(op),
           equal() && within_bound() ? "good" : "bad", escaped(verdict(*this)), escaped(summary));
  if (!first_difference.empty()) page.add("<p class=\"bad\">{}</p>\n", escaped(first_difference));
  if (error) page.add("<p>{}</p>\n", escaped(error_text(*this)));
  page.claims(claims, non_claims);
  page.add(
      "<table class=\"cards\"><thead><tr><th>operand</th><th>type</th><th>shape</th><th>read</th><th>written</th>"
      "<th class=\"n\">differing</th></tr></thead><tbody>\n");
  for (const OperandReport& o : operands)
    page.add(
        "<tr><td>{}</td><td data-name=\"type\">{}</td><td data-name=\"shape\">{}</td>"
        "<td data-name=\"read\"><code>{}</code></td><td data-name=\"written\"><code>{}</code></td>"
        "<td class=\"n\" data-name=\"differing\">{}</td></tr>\n",
        escaped(o.name), escaped(o.type), escaped(o.shape), o.read.empty() ? "-" : short_digest(o.read),
        o.written.empty() ? "-" : short_digest(o.written),
        o.written.empty() ? "-" : fmt::format("{} of {}", grouped(o.differing), grouped(o.compared)));
  page.add("</tbody></table>\n<h2>Where it comes from</h2>\n");
  const BuildFacts build = build_facts();
  const MachineFacts machine = machine_facts();
  page.facts({{"device", escaped(fmt::format("{} ({}), {:.3g} ms", device, description, 1e3 * seconds))},
              {"options", escaped(options_text(*this))},
              {"contract", fmt::format("<code>{}</code>", contract_digest)},
              {"definition", fmt::format("<code>{}</code>", definition_digest)},
              {"tokitai", escaped(fmt::format("{}, built with {}", library_version(), build.compiler))},
              {"flags", fmt::format("<code>{}</code>", escaped(build.flags))},
              {"processor", escaped(fmt::format("{}, {}", machine.processor, machine.system))}});
  for (const KernelFacts& k : kernels)
    page.facts({{"kernel", escaped(fmt::format("{} for {}", k.label, k.target))},
                {"compiler", escaped(k.toolchain)},
                {"command", fmt::format("<code>{}</code>", escaped(k.command))},
                {"audit", escaped(k.audit)},
                {"binary", fmt::format("<code>{}</code>", k.artifact_digest)}});
  page.add("<p class=\"soft\">{}</p>\n</main>\n", kScope);
  return std::move(page).done();
}

}  // namespace tokitai
