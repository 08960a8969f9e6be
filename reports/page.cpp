#include "reports/page.h"

#include "base/printable.h"
#include "reports/report_style.h"

namespace tokitai::evidence {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : base::printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string breakable(std::string_view name) {
  std::string out;
  for (const char c : escaped(name)) {
    out += c;
    if (c == '.' || c == '_') out += "<wbr/>";
  }
  return out;
}

std::string grouped(std::int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string short_digest(const std::string& digest) { return digest.substr(0, 12); }

Page::Page(std::string_view title) {
  add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      escaped(title), kReportStyle);
}

void Page::list(std::string_view kind, const std::vector<std::string>& sentences) {
  add("<ul class=\"{}\">", kind);
  for (const std::string& sentence : sentences) add("<li>{}</li>", escaped(sentence));
  add("</ul>\n");
}

void Page::claims(const std::vector<std::string>& claims, const std::vector<std::string>& non_claims) {
  add("<div class=\"pair\"><div class=\"claims\"><h3>Claims</h3>");
  list("", claims);
  add("</div><div class=\"nonclaims\"><h3>Does not claim</h3>");
  list("", non_claims);
  add("</div></div>\n");
}

void Page::facts(const std::vector<std::pair<std::string, std::string>>& rows) {
  add("<table class=\"facts\"><tbody>");
  for (const auto& [name, value] : rows) add("<tr><th>{}</th><td>{}</td></tr>\n", escaped(name), value);
  add("</tbody></table>\n");
}

std::string Page::done() && {
  add("</body>\n</html>\n");
  return std::move(out_);
}

}  // namespace tokitai::evidence
